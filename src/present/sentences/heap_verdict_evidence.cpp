// What a verdict rests on, what speaks against it, and what to do next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/interval.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "attach/allocators/settings/settings.h"
#include "base/shell_word.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/heap_verdict_sentences.h"
#include "present/sentences/heap_verdict_words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

std::string rate(double bytes_per_s) {
  return (bytes_per_s < 0 ? "-" : "") + bytes(std::fabs(bytes_per_s)) + "/s";
}

// Of so many blocks or bytes. Less than the value itself: the estimate is never rounded to nothing.
static double known_error(double value, double variance_per_unit) {
  return std::min(HeapAmount{value, value * variance_per_unit}.error(), 0.99 * value);
}

static std::string samples_text(double samples) {
  const auto count = static_cast<std::uint64_t>(std::llround(samples));
  return count <= 1 ? "one sample" : counted(count, "sample");
}

// Both ends have two digits: more of them say nothing.
static AmountInterval few_samples_interval(double value, double samples) {
  AmountInterval interval = poisson_interval(value, samples);
  for (double* end : {&interval.low, &interval.high})
    if (*end > 0) *end = std::round(*end / last_known_digit(*end) * 10) * last_known_digit(*end) / 10;
  return interval;
}

std::string blocks_text(double blocks, const HeapFacts& facts) {
  const double samples = samples_behind(blocks, facts.per_unit.blocks);
  if (blocks > 0 && samples < kFewestForError) {
    const AmountInterval interval = few_samples_interval(blocks, samples);
    return fmt::format("{} to {} blocks", count_with_error(std::max(1.0, interval.low), 0),
                       count_with_error(interval.high, 0));
  }
  const std::string count = count_with_error(blocks, known_error(blocks, facts.per_unit.blocks));
  return count + (count == "1" ? " block" : " blocks");
}

std::string bytes_text(double value, const HeapFacts& facts) {
  const double error = known_error(value, facts.per_unit.bytes);
  const std::string text = bytes_with_error(value, error);
  const double samples = samples_behind(value, facts.per_unit.bytes);
  if (value > 0 && samples < kFewestForError) {
    const AmountInterval interval = poisson_interval(value, samples);
    return fmt::format("{} ({}: between {} and {})", text, samples_text(samples), bytes(interval.low),
                       bytes(interval.high));
  }
  constexpr double kWorthTelling = 0.01;
  return error < kWorthTelling * std::fabs(value) ? text : text + " ±" + bytes(error);
}

namespace {

// "+12.0 %", "2.4 times".
std::string change_text(double ratio) {
  return ratio >= 2 ? fmt::format("{:.1f} times", ratio)
                    : fmt::format("{}{}", ratio < 1 ? "-" : "+", percent(std::fabs(ratio - 1)));
}

std::string text_of(const HeapEvidence& of, const HeapVerdict& verdict) {
  using Kind = HeapEvidenceKind;
  switch (of.kind) {
    case Kind::kLine:
      return fmt::format("R² {:.2f} over {}", of.a, seconds(of.b)) +
             (of.c > 0 ? fmt::format(" after a warm-up of {}", seconds(of.c)) : "");
    case Kind::kNoPlateau:
      return fmt::format("no plateau: the last third of that time is {} ±{} above the third before{}",
                         bytes(of.a), bytes(of.b), of.c != 0 ? ", with a new maximum" : "");
    case Kind::kWork:
      return fmt::format("allocations per second, second half of the time against the first: {}",
                         change_text(of.a)) +
             (of.b >= 0 ? fmt::format("; CPU use: {}", change_text(of.b)) : "");
    case Kind::kRssGrew:
      return fmt::format("the process's anonymous memory grew by {} in the same time", rate(of.a));
    case Kind::kRssDidNot:
      return fmt::format("the process's anonymous memory changed by {} in the same time", rate(of.a));
    case Kind::kReplaced:
      return fmt::format(
          "{} from before the recording were freed in the same time, and {} more of the newer ones are live",
          blocks_text(of.a, verdict.facts), blocks_text(of.b, verdict.facts));
    case Kind::kNoneFreed:
      return fmt::format("none of the {} that it allocated were freed", blocks_text(of.a, verdict.facts));
    case Kind::kSomeFreed:
      return fmt::format("of the {} that it allocated {} were freed", blocks_text(of.a, verdict.facts),
                         percent(of.b));
    case Kind::kFewHoldAll:
      return fmt::format("{} {} all of it: a container that keeps being enlarged",
                         blocks_text(of.a, verdict.facts), std::llround(of.a) == 1 ? "holds" : "hold");
    case Kind::kOld:
      return fmt::format("{} of its live blocks are older than {}", percent(of.a), seconds(of.b));
    case Kind::kFreedAtExit:
      return fmt::format("{} of it were freed when the program ended: no leak checker reports this",
                         bytes(of.a));
    case Kind::kSlopeAndSwing:
      return fmt::format("slope {} to {} (95 %), swing ±{}", rate(of.a), rate(of.b), bytes(of.c));
    case Kind::kSlope:
      return fmt::format("slope {} to {} (95 %)", rate(of.a), rate(of.b));
    case Kind::kSamplingSwings:
      return "most of that is the error of sampling";
    case Kind::kPeakError:
      return fmt::format("its height is ±{} by sampling", bytes(of.a));
    case Kind::kPeakExact:
      return "its height is exact to the event";
    case Kind::kPeakOfSlice:
      return "its height is measured at the end of a time slice";
    case Kind::kPeakOfRecorded:
      return "its height covers what was recorded";
    case Kind::kNeverFreed:
      if (of.a <= 0)
        return verdict.facts.per_unit.bytes > 0 ? "no sampled block was left at that point"
                                                : "all of it was freed at that point";
      return fmt::format("{} in {} were never freed", bytes_text(of.a, verdict.facts),
                         blocks_text(of.b, verdict.facts));
    case Kind::kNotALeakAlone:
      return "on its own this is not a leak: memory that is needed until the end need not be freed";
    case Kind::kSeenInAllocators:
      return fmt::format("the allocators appear in {:.0f} of {:.0f} CPU samples", of.a, of.b);
    case Kind::kAllocatorCpu:
      return fmt::format(
          "the allocators take {} ±{} of its process's CPU time, {:.0f} % of that for this function",
          percent(of.a), percent_number(of.b), 100 * of.c);
    case Kind::kMostlyOfSize:
      return fmt::format("{} of its bytes are in blocks of {} to {}", percent(of.a), bytes(of.b),
                         bytes(of.c));
    case Kind::kReplacedNone:
      return fmt::format("none of it was replaced in {}", seconds(of.a));
    case Kind::kReplacedShare:
      return fmt::format("{} of it was replaced in {}", percent(of.a), seconds(of.b));
    case Kind::kSinceStartOnly:
      return "counts only blocks allocated since the recording started";
    case Kind::kSizeClasses:
      return "computed from the allocators' size classes; waste within their pages is not included";
    case Kind::kInAll:
      return fmt::format("{} in all", bytes(of.a));
    case Kind::kEstimated:
      return "estimated from sampled blocks";
    case Kind::kOutlive:
      return fmt::format(
          "half of its live blocks are older than {}; nine out of ten freed blocks lived for less than {}",
          seconds(of.a), seconds(of.b));
    case Kind::kHeldFor:
      return fmt::format("the same at each of the last {} over {}",
                         counted(static_cast<std::uint64_t>(of.b), "look"), seconds(of.a));
    case Kind::kLiveFell:
      return fmt::format("{} of it were in live blocks at {}, {} are now", bytes(of.a), seconds(of.c),
                         bytes(of.b));
    case Kind::kOnHugePages:
      return fmt::format(
          "{} of it are on transparent huge pages, which the kernel keeps or takes back as a whole",
          percent(of.a));
    case Kind::kLiveError:
      return fmt::format("live blocks are ±{} by sampling", bytes(of.a));
    case Kind::kLostEvents:
      return lost_events_text(verdict.losses);
  }
  return "";
}

// Why blocks and their frees may not belong together.
std::string unpaired_text(const HeapVerdict& verdict) {
  const HeapPairing& pairing = verdict.pairing;
  if (pairing.events_lost) return lost_events_text(verdict.losses);
  if (pairing.outages) return outages_text(verdict.losses);
  if (pairing.partly_hooked) return "not every function of its allocator could be hooked";
  if (pairing.frees_unseen) return "some frees were missed: their addresses were handed out again";
  if (pairing.unseen_allocators) return "an allocator of the process was not traced";
  return "processes that it forked were not traced";
}

std::string text_of(const HeapDoubt& doubt, const HeapVerdict& verdict) {
  using Kind = HeapDoubtKind;
  switch (doubt.kind) {
    case Kind::kFewSeconds:
      return fmt::format("only {} were recorded", seconds(doubt.number));
    case Kind::kLateThirdIsFlat:
      return "the last third alone does not show it";
    case Kind::kNotAlongLine:
      return "most of the movement is not along this line";
    case Kind::kWorkUnknown:
      return "the amount of work is unknown";
    case Kind::kOlderUnseen:
      return "blocks from before the recording are invisible: new ones may only have replaced them";
    case Kind::kRssHardlyChanged:
      return fmt::format("the process's anonymous memory changed by only {} in the same time",
                         rate(doubt.number));
    case Kind::kFewSampled:
      return doubt.number <= 0 ? "few of its blocks were sampled"
                               : fmt::format("it rests on {}", samples_text(doubt.number));
    case Kind::kFewStepsTellNothing:
      return "a few steps do not predict the next one";
    case Kind::kAfterLastStep:
      return "what happens after the last step is unknown";
    case Kind::kMayRiseOn:
      return "it may have gone on rising after the recording";
    case Kind::kLongLastSlice:
      return fmt::format("the last slice of time is {} long", seconds(doubt.number));
    case Kind::kFewSampledCalls:
      return fmt::format("few of its blocks were sampled: ±{} of its calls", percent(doubt.number));
    case Kind::kCostsNothing:
      return "its cost is negligible";
    case Kind::kCpuUnknown:
      return "CPU time was not recorded, so its cost is unknown";
    case Kind::kNotLevel:
      return "it swings too much to be called level";
    case Kind::kMayGoOn:
      return "its limit is unknown";
    case Kind::kHidesGrowth:
      return fmt::format("it may have grown by up to {} in this time", bytes(doubt.number));
    case Kind::kRssGrew:
      return fmt::format(
          "the process's anonymous memory grew by {} in the same time: allocators hold more than the live blocks, or other code maps memory",
          rate(doubt.number));
    case Kind::kHeldShortly:
      return fmt::format(
          "observed for only {}: allocators give unused memory back later (jemalloc after 10 s)",
          seconds(doubt.number));
    case Kind::kNeverSeenLive:
      return "this memory was never observed in live blocks";
    case Kind::kSharedOut:
      return "blocks of another allocator lie in the same memory";
    case Kind::kLostEvents:
      return lost_events_text(verdict.losses);
    case Kind::kOutages:
      return outages_text(verdict.losses);
    case Kind::kNotPaired:
      return unpaired_text(verdict);
  }
  return "";
}

std::string for_longer(const HeapVerdict& verdict) {
  return verdict.ended ? fmt::format("give the program work for at least {:.0f} s", verdict.advice.number)
                       : fmt::format("record at least {0:.0f} s: -d {0:.0f}", verdict.advice.number);
}

}  // namespace

std::vector<std::string> evidence_of(const HeapVerdict& verdict) {
  std::vector<std::string> texts;
  for (const HeapEvidence& evidence : verdict.evidence) texts.push_back(text_of(evidence, verdict));
  return texts;
}

std::vector<std::string> doubts_of(const HeapVerdict& verdict) {
  std::vector<std::string> texts;
  for (const HeapDoubt& doubt : verdict.doubts) texts.push_back(text_of(doubt, verdict));
  return texts;
}

std::string advice_of(const HeapVerdict& verdict) {
  using Kind = HeapAdviceKind;
  switch (verdict.advice.kind) {
    case Kind::kNone:
      return "";
    case Kind::kRecordLonger:
      return for_longer(verdict);
    case Kind::kFromBefore:
      return fmt::format("record for longer than {} blocks live, or from the start of the program",
                         verdict.of_whole ? "the" : "these");
    case Kind::kSteadyLoad:
      return "record again under a steady load: what still grows then is a leak candidate";
    case Kind::kShowCallers:
      return fmt::format(
          "find what should free these blocks, or which container has no limit: fathom report FILE --metric heap-growth --callers {}",
          shell_word(printable(verdict.function)));
    case Kind::kShowGrowth:
      return "fathom flamegraph FILE --metric heap-growth -o growth.svg shows the stacks";
    case Kind::kShowLive:
      return "fathom report FILE --metric heap-live shows what it holds";
    case Kind::kShowPeakMakeUp:
      return "no action needed for its size; fathom report FILE --metric heap-peak shows what it consists of";
    case Kind::kGrowthTenth:
      return "to see a growth of a tenth of the heap, " + for_longer(verdict);
    case Kind::kJudgeFunctions:
      return "judge by the functions instead, whose own series swing less";
    case Kind::kSampleFiner:
      return "sample more often (--heap-interval 65536), or record every call: --heap=exact";
    case Kind::kShowPeak:
      return "peaks hit memory limits: fathom flamegraph FILE --metric heap-peak -o peak.svg shows its stacks";
    case Kind::kWasItNeeded:
      return "leak checkers do not report it, but a server would hold it forever: check whether it was needed until the end with fathom report FILE --metric heap-live --until SECONDS";
    case Kind::kListLeaked:
      return "fathom report FILE --metric heap-leaked lists all of it; the growing parts are named above";
    case Kind::kKeepBuffer:
      return "keep the buffer, reserve its size, or use an arena: fathom flamegraph FILE --metric heap-temporary -o churn.svg shows the callers";
    case Kind::kShowCalls:
      return "fathom flamegraph FILE --metric heap-allocations -o calls.svg shows the callers";
    case Kind::kChangeLimit:
      return fmt::format(
          "if it is too large, change its limit; a leak in it below {} would not be visible in {}",
          rate(verdict.advice.number), seconds(verdict.advice.seconds_seen));
    case Kind::kMayGrow:
      return fmt::format(
          "it may also leak: growth of up to {} would look the same in {}; record longer, or record every call (--heap=exact)",
          rate(verdict.advice.number), seconds(verdict.advice.seconds_seen));
    case Kind::kFewHuge:
      return "few huge blocks: check whether all of it must be in memory, or can be mapped, loaded on demand or freed after startup";
    case Kind::kManySmall:
      return "many small blocks: allocators add 8 to 16 bytes and rounding to each; arrays or an arena need less";
    case Kind::kOneAllocator:
      return "two allocators in one process: give blocks back through the library that made them, or link one allocator for all";
    case Kind::kLookAtDeletes:
      return "sized deletes and sdallocx trust the size: look for a delete through a base class without virtual destructor, or a length that changed since";
    case Kind::kOneOwner:
      return "two places believe that they own the block: look for a copied raw pointer, or a destructor that runs for a copy";
    case Kind::kDecaySooner:
      return fmt::format(
          "free pages go back after a second, also while the program is idle, with {}={} in its environment; what remains lies between live blocks: allocate long-lived data separately, or use fewer arenas (narenas:2)",
          printable(allocators::jemalloc_variable(allocators::prefix_in(verdict.facts.allocator))),
          allocators::kJemallocGivesBackSooner);
    case Kind::kTrim:
      return "malloc_trim(0) gives back all free pages, including those between live blocks: call it after such a peak; if many threads allocate, start the program with MALLOC_ARENA_MAX=2; what remains lies within pages: allocate long-lived data separately";
    case Kind::kAllocatorsOwn:
      return "its allocator's settings determine when it gives memory back; fathom report FILE --memory lists what it holds";
    case Kind::kMindSizeClasses:
      return "sizes just above a size class waste the most: request the size of a class, or combine small blocks";
  }
  return "";
}

}  // namespace fathom::present
