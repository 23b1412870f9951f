// How much is missing of the recordings of one side of a comparison, taken together: what the figures of a diff rest on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

// Sums over the runs; a run without the number, such as a foreign file, is in no sum.
struct SideQuality {
  std::size_t runs = 0;
  std::size_t imported = 0;  // of these: files that do not say what was lost
  std::uint64_t samples = 0, lost = 0;
  std::uint64_t waits = 0, lost_waits = 0;
  std::uint64_t heap_events = 0, lost_heap_events = 0;
  std::optional<double> complete_share;  // of the stacks
  std::optional<double> unnamed_share;   // of the frames of what is compared
  std::optional<double> own_cost;        // of one core, while it recorded
};

struct SideRun {
  const model::Profile* profile = nullptr;  // has passed check()
  Selection selection = {};
};
SideQuality side_quality(const std::vector<SideRun>& runs);

struct DiffQuality {
  SideQuality base, fresh;
};

}  // namespace fathom::analysis
