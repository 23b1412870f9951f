// What the heap's numbers mean: verdicts with their evidence, as data and as sentences. A block that was not
// freed is no leak by itself: caches, tables and whatever is needed to the end look the same at one moment.
// What is told apart here is told apart by time: what grows while the work does not; what is level; what is
// replaced; what is freed only when the program ends. Every verdict says how sure it is, what speaks against
// it, and what to type next. Noise is called noise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/heap/heap_trend.h"

namespace fathom::analysis {

enum class HeapVerdictKind : std::uint8_t {
  kForeignFree,    // freed through another allocator than the one that gave it: an error
  kWrongSize,      // freed with a size that is not its own: an error
  kGrowing,        // the whole heap
  kLeak,           // a function's blocks grow and the work does not
  kGrowsWithWork,  // ... and the work does
  kSteps,          // rose in a few jumps
  kTurnover,       // what was recorded grows, the process does not: blocks from before are replaced
  kLevel,          // the whole heap does not grow
  kFalling,        // the whole heap
  kNoise,          // of the whole heap neither can be said
  kTooShort,
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
  double bytes = 0;               // of what the verdict is about
  double share = 0;               // of all of that
  std::vector<std::string> path;  // the heaviest stack: the function, its caller, ...
};

struct HeapVerdict {
  HeapVerdictKind kind = HeapVerdictKind::kTooShort;
  Confidence confidence = Confidence::kHigh;
  std::int32_t pid = 0;
  std::string function, module;  // empty: the whole heap
  double bytes = 0;      // what it is about: growth in the window, live bytes, bytes above the usual ...
  std::string sentence;  // without the confidence
  std::vector<std::string> evidence;  // what it rests on
  std::vector<std::string> doubts;    // what speaks against it: these make the confidence
  std::string advice;                 // what to look at or to type next
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
