// Whether a recording measured a metric, so that no value of it means zero. What was not measured is unknown:
// it is neither "gone" on the new side nor "new" there.
#pragma once

#include "model/metric.h"
#include "model/profile.h"

namespace fathom::analysis {

// CPU time also counts as measured if the kernel did not allow samples of it (is_unsampled()): its total may be
// known from a clock. Wall-clock time of threads is measured if their waits are; it is the sum of waits and of
// whatever the recording has of CPU time.
bool is_measured(const model::Profile& profile, model::Metric metric);

}  // namespace fathom::analysis
