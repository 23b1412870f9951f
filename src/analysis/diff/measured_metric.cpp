#include "analysis/diff/measured_metric.h"

#include "analysis/core/uncounted.h"
#include "model/unsampled.h"

namespace fathom::analysis {

bool is_measured(const model::Profile& profile, model::Metric metric) {
  using model::Metric;
  if (model::is_heap(metric)) {
    if (uncounted(profile, metric)) return false;
    if (!profile.heap.empty()) return true;
  } else if (metric == Metric::kCpu) {
    if (profile.meta.engine != "import" && profile.meta.frequency_hz != 0) return true;
  } else if (!profile.all_waits().empty() || model::has_thread_times(profile)) {
    return true;
  }
  for (const model::Sample& sample : profile.all_samples())
    if (sample.metric == metric) return true;
  return false;
}

}  // namespace fathom::analysis
