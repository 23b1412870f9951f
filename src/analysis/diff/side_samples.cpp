#include "analysis/diff/side_samples.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/selection.h"
#include "analysis/core/waits.h"
#include "analysis/core/words.h"

namespace fathom::analysis {

std::uint64_t samples_of(const DiffRun& run, model::Metric metric, std::uint64_t rows) {
  if (metric != model::Metric::kCpu) return rows;
  const model::Profile& profile = *run.profile;
  Selection selection = run.selection;
  selection.metric = metric;
  const Filter filter(profile, selection);
  double selected = 0, all = 0;
  std::uint64_t all_rows = 0;
  for (const model::Sample& sample : profile.all_samples()) {
    const auto value = static_cast<double>(std::max<std::int64_t>(value_of(sample, metric, 1), 0));
    all += value;
    ++all_rows;
    if (filter.takes(sample)) selected += value;
  }
  constexpr double kMost = 1e18;  // the sums are a stranger's
  if (unit_of(profile, selection) == "samples") return static_cast<std::uint64_t>(std::min(selected, kMost));
  // Sums in another unit: the file says how many samples they are of.
  if (profile.quality.samples <= all_rows || !(all > 0)) return rows;
  const double samples = static_cast<double>(profile.quality.samples) * selected / all;
  return static_cast<std::uint64_t>(std::llround(std::min(samples, kMost)));
}

}  // namespace fathom::analysis
