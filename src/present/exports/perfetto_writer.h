// A trace for Perfetto's page and trace_processor: CPU samples with their stacks, waits as slices of their
// threads with who ended them, and what was read over time (memory, the live heap) as counters, all on one
// clock. Sources: trace_packet.proto, track_event.proto, profile_common.proto and profile_packet.proto of the
// Perfetto project. Track descriptions, their events and the clock have a stability promise; samples
// (PerfSample) are read by every version so far.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct PerfettoOptions {
  analysis::Selection selection = {};  // its metric does not matter: a trace has all that has a time
  bool fold_generics = false;
  std::vector<std::string> comments = {};  // sentences: what is known about the truth of the numbers
};

// Not packed. kNotFound where the selection has nothing.
Result<std::string> write_perfetto(const model::Profile& profile, const PerfettoOptions& options);

}  // namespace fathom::present
