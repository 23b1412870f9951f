// A recording's report on the heap: totals, the peak, allocating code, allocators, and how reliable all of it
// is. Data, written as terminal text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/core/heap_losses.h"
#include "analysis/core/unseen_allocators.h"
#include "analysis/heap/heap_blocks.h"
#include "analysis/heap/heap_returns.h"
#include "analysis/verdicts/heap_verdicts.h"

namespace fathom::analysis {

// All sites whose leaf is one function: the code that wanted the memory.
struct HeapFunctionRow {
  std::string name;
  std::string module;
  HeapAmounts allocated, freed, live, growth, peak;
  model::HeapSum temporary, short_lived;
  double longest_s = 0;  // longest life of a block that was freed
  std::uint64_t sites = 0;
};

struct HeapAllocatorRow {
  std::string label;
  std::string module;
  HeapAmounts allocated, live;
  // Functions by the way in which they were hooked; `by_probe`: static probes of the program's own, at which nothing was put into
  // it. `missed`: those that were not, each with the reason.
  std::vector<std::string> by_slot, by_entry, by_probe, missed;
  bool is_unseen() const {
    return by_slot.empty() && by_entry.empty() && by_probe.empty() && !missed.empty();
  }
};

struct HeapSliceRow {
  double from_s = 0, to_s = 0;             // from the start of the recording
  double live_bytes = 0, live_blocks = 0;  // at its end
  double peak_bytes = 0;                   // inside of it
  double allocated_bytes = 0, allocations = 0, freed_bytes = 0;
};

struct HeapBucketRow {
  double from = 0;  // bytes or seconds; up to twice that, or 1 where it is 0
  model::HeapSum sum;
};

enum class HeapFindingKind : std::uint8_t {
  kLostEvents,    // HeapReport::losses
  kOutages,       // likewise
  kMergedSites,   // number: allocations without their place
  kWithoutStack,  // number: share of the events
  kUnseenFrees,   // number
  kNotHooked,     // of `allocator`: `functions`
  kNotTraced,     // number: forked processes; `functions`: their names, that of most CPU time first
};
struct HeapFinding {
  HeapFindingKind kind;
  double number = 0;
  std::string allocator;
  std::vector<std::string> functions;
};

struct HeapReport {
  bool sampled = false, exact = false;  // both when recordings of both kinds were merged
  bool from_start = false;              // there are no blocks from before
  std::uint64_t mean_bytes = 0;
  // From heap dumps of the program itself (facts "heap source" and "heap allocated"): one moment, or one after the other.
  bool of_dump = false, of_dumps = false;
  bool by_probes = false;  // reported only by static probes of the program, which samples by itself
  // What was counted: what was allocated, what is live, and of how many blocks that was.
  bool allocated_known = true, live_known = true, blocks_known = true;
  std::string steps;  // what stands for a second where there are no times: "snapshot"; else empty
  double window_s = 0;
  HeapSiteSums total;
  HeapAmounts peak;
  double peak_at_s = 0;            // from the start of the recording
  bool peak_exact = false;         // nothing was lost, and
  bool peak_to_slice_end = false;  // this is false: the moment is that of an event
  // What the sampling of temporary blocks can say: freed before the next allocation (exact), or within 1 ms.
  bool temporary_is_short_lived = false;
  std::vector<HeapFunctionRow> functions;  // most live first, then most at the peak
  std::vector<HeapAllocatorRow> allocators;
  std::vector<HeapSliceRow> slices;                       // of the window
  std::vector<HeapBucketRow> sizes, lifetimes_s, ages_s;  // of the whole recording
  std::vector<HeapReturnRow> returns;                     // likewise: what madvise gave back
  std::vector<HeapBlockRow> blocks;                       // single ones, if they were asked for
  model::Heap counters;                                   // of all heaps together
  double freed_blocks = 0;                                // of the whole recording
  HeapDropped dropped;
  // The tables cover only some blocks: "that were never freed"; empty: all. `chosen_by_fate`: blocks were
  // selected by what became of them, so their sum over time is not the course of a heap, and there are no
  // verdicts.
  std::string block_choice;
  bool chosen_by_fate = false;
  std::vector<std::string> traced;       // allocators, each label once
  std::vector<UnseenAllocator> unseen;   // of whose blocks nothing is known
  std::optional<double> unseen_at_most;  // bytes that are resident at the end and may be theirs
  bool is_blind() const { return traced.empty() && !unseen.empty(); }  // nothing was traced at all
  HeapLosses losses;                                                   // what is missing of them
  std::vector<HeapVerdict> verdicts;                                   // the most important first
  std::vector<HeapFinding> findings;                                   // what makes the numbers worth less
};

// Of recordings whose heap was traced; `profile` has passed check().
std::optional<HeapReport> make_heap_report(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
