#include "analysis/metrics/recorded_metrics.h"

#include <algorithm>
#include <vector>

#include "analysis/heap/heap_groups.h"
#include "base/stable_sort.h"
#include "linux/metrics/recorded_names.h"

namespace fathom::analysis {
namespace {

std::vector<TimedValue> points_of(const model::Series& series) {
  std::vector<TimedValue> points;
  for (const model::Point& point : series.points)
    points.push_back({static_cast<double>(point.time_ns) * 1e-9, point.value});
  // A file may have them in any order.
  stable_sort_rows(points.begin(), points.end(),
                   [](const TimedValue& a, const TimedValue& b) { return a.time_s < b.time_s; });
  return points;
}

// Blocks that were live before the recording have no stacks and are in no crate.
void add_heap(Components& found, const model::Profile& profile, std::int32_t pid) {
  if (profile.heap.empty()) return;
  const HeapGroups groups = group_heap(
      profile, {.selection = {.metric = model::Metric::kHeapLive, .pid = pid}, .by = HeapGrouping::kCrate});
  for (ComponentGrowth& growth : found.components)
    for (const std::string& crate : growth.crates) {
      const auto row = std::find_if(groups.rows.begin(), groups.rows.end(),
                                    [&](const HeapGroupRow& one) { return one.name == crate; });
      if (row != groups.rows.end() && row->cumulative.value > 0)
        growth.heap.push_back({crate, row->cumulative.value, row->cumulative.error()});
    }
}

}  // namespace

std::optional<Components> recorded_components(const model::Profile& profile, const ComponentRules& rules) {
  std::vector<MetricSeries> series;
  std::optional<std::int32_t> pid;
  for (const model::Series& row : profile.series) {
    const std::string_view name = profile.strings[row.name];
    if (!name.starts_with(metrics::kRecordedPrefix) || (pid && row.pid != *pid)) continue;
    pid = row.pid;
    series.push_back({std::string(name.substr(metrics::kRecordedPrefix.size())),
                      profile.strings[row.unit].ends_with(metrics::kCountedSuffix), points_of(row)});
  }
  if (!pid) return std::nullopt;
  std::vector<TimedValue> memory;
  for (const model::Series& row : profile.series)
    if (row.pid == *pid && profile.strings[row.name] == "memory.rss_anon") memory = points_of(row);
  Components found = explain_growth(series, memory, rules);
  if (found.empty()) return std::nullopt;
  add_heap(found, profile, *pid);
  return found;
}

}  // namespace fathom::analysis
