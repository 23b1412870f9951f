// What is missing of a traced heap, in words and in times of the recording. Whether anything is:
// model/heap_exactness.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/heap_exactness.h"

namespace fathom::analysis {

// Nothing of a heap was recorded in this time; seconds from the start of the recording.
struct OutageRow {
  double from_s = 0, to_s = 0;
};

struct HeapLosses {
  model::HeapExactness exactness;
  std::vector<OutageRow> outages;
  bool has_lost_events() const { return exactness.lost() != 0 || exactness.damaged_rings != 0; }
  bool has_outages() const { return !outages.empty() || exactness.switched_off; }
  bool complete() const { return exactness.complete(); }
};

// Blocks that went with programs that executed another one (exec).
struct HeapDropped {
  std::uint64_t programs = 0;
  double blocks = 0, bytes = 0;
};
HeapDropped heap_dropped(const model::Profile& profile, std::optional<std::int32_t> pid = std::nullopt);

// Of all heaps, or of those of one process.
HeapLosses heap_losses(const model::Profile& profile, std::optional<std::int32_t> pid = std::nullopt);

}  // namespace fathom::analysis
