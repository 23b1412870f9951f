// What the heap's numbers mean: verdicts with their evidence, as facts (present/sentences writes their
// sentences). An unfreed block is not a leak by itself: caches, tables and everything needed to the end look
// the same at one moment. Only time separates them: what grows while the work does not; what is level; what
// is replaced; what is freed only when the program ends. Every verdict states its confidence, the
// counter-evidence, and the next command to run. Noise is called noise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/core/heap_losses.h"
#include "analysis/heap/heap_pairing.h"
#include "analysis/heap/heap_trend.h"

namespace fathom::analysis {

enum class HeapVerdictKind : std::uint8_t {
  kForeignFree,    // freed through another allocator than the one that gave it: an error
  kWrongSize,      // freed with a size that is not its own: an error
  kFreedTwice,     // freed once more before it was handed out again: an error
  kGrowing,        // the whole heap
  kLeak,           // a function's blocks grow and the work does not
  kGrowsWithWork,  // ... and the work does
  kSteps,          // rose in a few jumps
  kMayLevel,       // rises, but less and less, or nothing is sure to go on: what fills up looks like that
  kTurnover,       // what was recorded grows, the process does not: blocks from before are replaced
  kLevel,          // the whole heap does not grow
  kFalling,        // the whole heap
  kNoise,          // undecided for the whole heap: its swing may hide growth
  kTooShort,
  kHeld,         // resident, of an allocator, and in no block: free memory that it keeps, gaps between blocks
  kPeak,         // far above the usual level
  kChurn,        // many blocks that live for a moment
  kUnfreed,      // at the end of the program
  kFreedAtExit,  // live to the end of the program, and freed then
  kCache,        // large, level, its blocks are replaced
  kBloat,        // large, level, its blocks stay
  kSlack,        // set aside and not asked for: rounding up to size classes
};
// "growing", "leak", "grows-with-work" ...: for JSON.
std::string_view to_string(HeapVerdictKind kind);

enum class Confidence : std::uint8_t { kLow, kMedium, kHigh };
std::string_view to_string(Confidence confidence);

// One of the functions that share in it.
struct HeapShare {
  std::string name, module;
  std::string
      caller;  // where `name` is none: the nearest function with one that most of its stacks have; empty: there is none
  double bytes = 0;               // of what the verdict is about
  double share = 0;               // of all of that
  std::vector<std::string> path;  // the heaviest stack: the function, its caller, ...
};

// Where its blocks come from.
struct HeapPlace {
  std::string name, module;
  std::string caller;                // as in HeapShare
  std::vector<std::string> callers;  // nearest first
  bool one_stack = false;            // of many stacks of that function
};

// What a verdict rests on. `a`, `b` and `c` are the numbers that each line names.
enum class HeapEvidenceKind : std::uint8_t {
  kLine,           // a: R², b: seconds it was drawn over, c: seconds of warm-up before
  kNoPlateau,      // a: bytes that the last third is above the one before, b: their error; 1: a new maximum
  kWork,           // a: allocations per second, second half against the first; b: CPU use, below 0: not known
  kRssGrew,        // a: bytes per second of the anonymous memory
  kRssDidNot,      // a: likewise
  kReplaced,       // a: blocks from before that were freed, b: newer ones that are live
  kNoneFreed,      // a: blocks that were allocated
  kSomeFreed,      // a: blocks that were allocated, b: share that was freed
  kFewHoldAll,     // a: blocks
  kOld,            // a: share of the live blocks, b: seconds that they are older than
  kFreedAtExit,    // a: bytes
  kSlopeAndSwing,  // a, b: interval of the slope, c: half of the swing in bytes
  kSlope,          // a, b: interval of the slope
  kSamplingSwings,    //
  kPeakError,         // a: bytes
  kPeakExact,         //
  kPeakOfSlice,       //
  kPeakOfRecorded,    //
  kNeverFreed,        // a: bytes, b: blocks
  kNotALeakAlone,     //
  kSeenInAllocators,  // a: CPU samples inside of allocators, b: of so many
  kAllocatorCpu,      // a: share of all CPU time, b: its error, c: share of that for this function
  kMostlyOfSize,      // a: share of the bytes, b, c: sizes
  kReplacedNone,      // a: seconds
  kReplacedShare,     // a: share, b: seconds
  kSinceStartOnly,    //
  kSizeClasses,       //
  kInAll,             // a: bytes
  kEstimated,         //
  kOutlive,      // a: median age of what is live in seconds; b: nine of ten that were freed had lived less
  kHeldFor,      // a: seconds, b: looks
  kLiveFell,     // a: bytes that were live in it once, b: and are now, c: seconds of the former
  kOnHugePages,  // a: share of what is resident
  kLiveError,    // a: bytes
  kLostEvents,   // HeapVerdict::losses
};
struct HeapEvidence {
  HeapEvidenceKind kind;
  double a = 0, b = 0, c = 0;
};

// The evidence against a verdict.
enum class HeapDoubtKind : std::uint8_t {
  kFewSeconds,        // number: recorded
  kLateThirdIsFlat,   //
  kNotAlongLine,      //
  kWorkUnknown,       //
  kOlderUnseen,       //
  kRssHardlyChanged,  // number: bytes per second
  kFewSampled,        // number: sampled blocks that it rests on; 0: not counted
  kFewStepsTellNothing,
  kAfterLastStep,
  kMayRiseOn,
  kLongLastSlice,    // number: seconds
  kFewSampledCalls,  // number: their error as a share
  kCostsNothing,
  kCpuUnknown,
  kNotLevel,
  kMayGoOn,
  kHidesGrowth,    // number: bytes that it may have grown by, unseen
  kRssGrew,        // number: bytes per second of the anonymous memory, where the blocks do not grow
  kHeldShortly,    // number: seconds
  kNeverSeenLive,  // what it keeps was never seen in use
  kSharedOut,
  kLostEvents,  // HeapVerdict::losses
  kOutages,     // likewise
  kNotPaired,   // HeapVerdict::pairing
};
struct HeapDoubt {
  HeapDoubtKind kind;
  double number = 0;
};

enum class HeapAdviceKind : std::uint8_t {
  kNone,
  kRecordLonger,     // number: seconds at least
  kFromBefore,       // longer than its blocks live, or from the start
  kSteadyLoad,       //
  kShowCallers,      // of HeapVerdict::function
  kShowGrowth,       //
  kShowLive,         //
  kShowPeakMakeUp,   //
  kGrowthTenth,      // number: seconds that would show a growth of a tenth of the heap
  kJudgeFunctions,   //
  kSampleFiner,      //
  kShowPeak,         //
  kWasItNeeded,      //
  kListLeaked,       //
  kKeepBuffer,       //
  kShowCalls,        //
  kChangeLimit,      // number: a growth that would not be seen, bytes per second, in seconds_seen
  kMayGrow,          // likewise
  kFewHuge,          //
  kManySmall,        //
  kOneAllocator,     //
  kLookAtDeletes,    //
  kOneOwner,         //
  kMindSizeClasses,  //
  kDecaySooner,      // jemalloc, by HeapFacts::allocator
  kTrim,             // glibc
  kAllocatorsOwn,    //
};
struct HeapAdvice {
  HeapAdviceKind kind = HeapAdviceKind::kNone;
  double number = 0, seconds_seen = 0;
};

// What the sentence mentions besides kind, function and trend; for each kind the fields named there.
struct HeapFacts {
  int ended_by_signal = 0;     // kUnfreed: it had no chance to free what it had; 0: it ended by itself
  bool end_not_known = false;  // likewise: it ended, but how is unknown
  bool of_process =
      false;  // kGrowing: the trend is of the process's anonymous memory; whose blocks is unknown
  bool traced_part = false;  // of all kinds: the whole heap is the part that was traced
  bool chosen_part = false;  // likewise: what was chosen of it, by size, by thread, by stacks
  // Of all kinds: the variance that a block and a byte of it have by sampling, on average; 0 where every call was seen.
  model::HeapVariance per_unit;
  HeapPlace place;         // of a function or one of its stacks
  double blocks = 0;       // kUnfreed, kFreedAtExit, kBloat, kForeignFree, kWrongSize, kFreedTwice, kHeld
  double level_bytes = 0;  // kLevel, kNoise: the usual height; kPeak likewise, 0: nothing is usual
  // kLevel, kNoise, kBloat: a growth below this, over so long, would not be seen.
  double unseen_bytes_per_s = 0, unseen_in_s = 0;
  std::optional<double> growth_share;  // kLeak, kGrowsWithWork: of the growth of the heap
  std::optional<double> work_ratio;    // kLeak, kGrowsWithWork: second half of the time against the first
  double height_bytes = 0, at_s = 0;   // kPeak
  bool early = false, late = false;    // kPeak
  double seconds = 0;                  // kTooShort: recorded; kFreedAtExit: of the shutdown
  std::uint64_t slices = 0;            // kTooShort
  std::optional<double> change_bytes;  // kTooShort: only the start and the end are known (model/heap_ends.h)
  double change_error = 0;             // likewise: half of its 95 % interval, 0 where exact
  bool level = false;                  // kCache: else it swings
  bool slowing = false;                // kMayLevel: less and less, else unknown
  double early_per_s = 0, late_per_s = 0;  // kMayLevel: growth of the first half, and of the later one
  std::optional<double> since_s;  // kLevel, kCache, kBloat: level since then; else all the time; kHeld
  double live_share = 0;          // kCache, kBloat
  double replaced = 0, level_s = 0, mean_life_s = 0;    // kCache: times, in so long, after so long
  double mean_bytes = 0;                                // kBloat
  double calls_per_s = 0, bytes_per_s = 0;              // kChurn
  double calls_share = 0, passing_share = 0;            // kChurn: of all calls; of its blocks
  bool by_order = false;                                // kChurn: passing before the next call
  double cpu_share = 0, cpu_error = 0;                  // kChurn of all
  std::vector<std::pair<std::string, double>> cpu_for;  // likewise: functions, share of that
  std::vector<std::string> given_by;                    // kForeignFree: allocators
  double usable_bytes = 0;                              // kSlack
  std::string allocator;                                // kHeld
  double held_bytes = 0, live_bytes = 0;                // kHeld: resident; of that in live blocks
};

// Below this many sampled blocks an amount is printed as its interval, which is asymmetric then.
constexpr double kFewestForError = 5;
// How many sampled blocks an amount rests on, 1 at least; infinite where every call was seen.
double samples_behind(double amount, double variance_per_unit);

struct HeapVerdict {
  HeapVerdictKind kind = HeapVerdictKind::kTooShort;
  Confidence confidence = Confidence::kHigh;
  std::int32_t pid = 0;
  std::string function, module;  // empty: the whole heap
  double bytes = 0;      // what it is about: growth in the window, live bytes, bytes above the usual ...
  bool of_whole = true;  // of the whole heap, else of facts.place
  bool ended = false;    // the program did, inside of the recording
  HeapFacts facts;
  std::vector<HeapEvidence> evidence;  // what it rests on
  std::vector<HeapDoubt> doubts;       // the evidence against it: it determines the confidence
  HeapAdvice advice;                   // what to look at or to type next
  HeapLosses losses;
  HeapPairing pairing;
  std::optional<Trend> trend;
  std::vector<HeapShare> shares;                        // most first
  std::vector<std::pair<std::string, double>> numbers;  // by name: docs/report-json.md
};

// The most important first, those of low confidence after all others. Empty where nothing was allocated.
// `sums` is of the same profile and selection; `profile` has passed check().
std::vector<HeapVerdict> judge_heap(const model::Profile& profile, const Selection& selection,
                                    const HeapSums& sums);

// Which of them a reader should see first: at most `most`, and of no kind more than three. Indices, in order.
std::vector<std::size_t> first_verdicts(const std::vector<HeapVerdict>& verdicts, std::size_t most);

}  // namespace fathom::analysis
