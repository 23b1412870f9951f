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
  // "12 of 3,456 events were lost (10 found no room, 2 had no ring)"; empty where none was.
  std::string events;
  // "nothing was recorded from 3.1 s to 9.2 s, as fathom did not answer"; empty where that did not happen.
  std::string stretches;
  // Both, and empty where nothing is missing.
  std::string text() const;
  bool complete() const { return exactness.complete(); }
};

// "45 blocks (3.1 KiB) went with 2 programs that executed another one (exec)."; empty where none did.
std::string dropped_text(const model::Profile& profile, std::optional<std::int32_t> pid = std::nullopt);

// Of all heaps, or of those of one process.
HeapLosses heap_losses(const model::Profile& profile, std::optional<std::int32_t> pid = std::nullopt);

}  // namespace fathom::analysis
