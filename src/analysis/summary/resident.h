// How the resident memory of the target went: most, last, and whether it grew.
#pragma once

#include <optional>

#include "analysis/core/selection.h"
#include "analysis/heap/heap_trend.h"
#include "analysis/summary/first_touch.h"

namespace fathom::analysis {

// Anonymous, of files and shared, all selected processes together.
struct ResidentMemory {
  double first = 0, last = 0, most = 0;  // bytes
  Trend trend;
  // Free memory that allocators keep, by their own records, when their memory was last read; what holds most of it. Known
  // without tracing the heap. 0: they keep none, or their records were not read.
  double free_bytes = 0;
  // The same when the recording of a heap began: later, with a traced heap, it is not known.
  double free_before_bytes = 0;
  std::string free_in{};                    // "glibc"
  std::optional<FirstTouch> first_touch{};  // of a growth
};

// nullopt: it was not recorded.
std::optional<ResidentMemory> find_resident(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
