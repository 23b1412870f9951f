// What the blocks of a process did over the time of a window, function by function: one row of times per
// process, and on it what each function allocated and freed. The rows of the heap tables are per slice, and
// slices of a long recording have several lengths; here neighbours are put together until there are 240 cells
// at most, so that trends of hundreds of functions cost nothing that matters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/core/shown_calls.h"
#include "analysis/heap/heap_trend.h"

namespace fathom::analysis {

struct HeapCell {
  model::HeapSum allocated, freed;
  // Of the bytes; 0 where exact: of the change in this cell, and by how much that of what is live changed.
  double change_variance = 0, live_variance = 0;
};

// All sites of one function, of one stack, or of the whole process.
struct HeapTrack {
  std::string name, module;  // of the function that asked for the memory; empty: the whole process
  std::vector<model::HeapSiteId> sites;
  HeapAmounts before;  // live at the start of the window
  model::HeapSum temporary, short_lived;
  std::vector<HeapCell> cells;

  // Sums of cells [from, to).
  HeapCell sum(std::size_t from, std::size_t to) const;
  // Live at the end of the cell before `cell`.
  model::HeapSum live_before(std::size_t cell) const;
};

struct HeapHistory {
  model::ProcessId process;
  bool sampled = false;     // in part at least
  bool from_start = false;  // traced from the start of the program
  bool from_zero = false;   // the window begins where tracing began
  bool to_end = false;      // the window reaches the end of the recording
  bool ended = false;       // the program ended inside of the window
  double start_s = 0;       // of the first cell, from the start of the recording
  std::vector<double> ends_s;
  // Cells from this one are the last 2 % of the run of a program that ended, at least one: shutting down.
  std::size_t end_of_work = 0;  // ends_s.size() where it did not end
  HeapTrack whole;
  std::vector<HeapTrack> functions;                 // those that may be worth a word
  std::vector<HeapTrack> stacks;                    // those that grew most
  std::size_t function_count = 0, stack_count = 0;  // all to which anything happened
  std::vector<double> site_growth;  // by HeapSiteId: bytes allocated less freed, without shutting down

  double seconds() const { return ends_s.empty() ? 0 : ends_s.back() - start_s; }
  // Of the work, without shutting down.
  double work_seconds() const { return end_of_work == 0 ? 0 : ends_s[end_of_work - 1] - start_s; }
  // Live bytes at the ends of cells [0, to).
  std::vector<TrendPoint> live(const HeapTrack& track, std::size_t to) const;
};

// One per process whose heap was traced and that has slices in the window. `sums` is of the same profile and
// selection. One visit per row.
std::vector<HeapHistory> heap_histories(const model::Profile& profile, const Selection& selection,
                                        const HeapSums& sums);

// Name and module of the function that wanted the memory, of those that are shown.
std::pair<std::string, std::string> function_that_asked(const model::Profile& profile, HeapLeaves& leaves,
                                                        model::StackId stack,
                                                        const ShownCalls* shown = nullptr);
// That function and those that called it, at most `most` of them.
std::vector<std::string> path_to_heap(const model::Profile& profile, HeapLeaves& leaves, model::StackId stack,
                                      std::size_t most);

}  // namespace fathom::analysis
