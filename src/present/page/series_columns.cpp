#include "present/page/series_columns.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/core/words.h"
#include "base/stable_sort.h"

namespace fathom::page {
namespace {

constexpr std::size_t kMostPoints = 3000, kMostSeries = 64;

struct Line {
  std::string name, unit;
  std::int32_t pid = 0;
  std::vector<model::Point> points;
};

std::vector<model::Point> thinned(const std::vector<model::Point>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<model::Point> out;
  const std::size_t together = (points.size() - 1) / kMostPoints + 1;
  for (std::size_t i = 0; i < points.size(); i += together) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(std::min(i + together, points.size()));
    out.push_back(*std::max_element(
        first, last, [](const model::Point& a, const model::Point& b) { return a.value < b.value; }));
  }
  return out;
}

// What allocators hold resident beyond the blocks that are live in it, at each moment at which memory was looked at.
std::vector<Line> slack_of(const model::Profile& profile) {
  std::map<std::uint32_t, std::map<std::uint64_t, double>> slack;  // by process and time
  for (const model::MemoryRange& range : profile.memory_ranges) {
    if (range.kind != model::MemoryKind::kAllocator && range.kind != model::MemoryKind::kBreak) continue;
    slack[range.process.value][range.time_ns] +=
        static_cast<double>(range.rss_bytes) - range.live_resident_bytes;
  }
  std::vector<Line> lines;
  for (const auto& [process, points] : slack) {
    Line line{"memory.allocator_slack", "bytes", profile.processes[process].pid, {}};
    for (const auto& [time, bytes] : points) line.points.push_back({time, std::max(0.0, bytes)});
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Line> lines_of(const model::Profile& profile) {
  std::vector<Line> lines = slack_of(profile);
  for (std::uint32_t i = 0; i < profile.heap.heaps.size(); ++i) {
    const model::Heap& heap = profile.heap.heaps[i];
    Line line{"heap.live", "bytes", 0, {}};
    if (heap.process.value < profile.processes.size()) line.pid = profile.processes[heap.process.value].pid;
    for (const model::HeapSlice& slice : profile.heap.slices)
      if (slice.heap.value == i) line.points.push_back({slice.end_ns, slice.live_bytes});
    lines.push_back(std::move(line));
  }
  for (const model::Series& series : profile.series)
    lines.push_back({analysis::printable(profile.strings[series.name]),
                     analysis::printable(profile.strings[series.unit]), series.pid, series.points});
  std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
  stable_sort_rows(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.points.size() > b.points.size(); });
  if (lines.size() > kMostSeries) lines.resize(kMostSeries);
  return lines;
}

}  // namespace

nlohmann::ordered_json add_series(const model::Profile& profile, Columns& columns) {
  auto out = nlohmann::ordered_json::array();
  for (const Line& line : lines_of(profile)) {
    const std::string name = "series." + std::to_string(out.size());
    std::vector<std::int64_t> times;
    std::vector<double> values;
    for (const model::Point& point : thinned(line.points)) {
      const std::uint64_t start = profile.meta.start_ns;
      times.push_back(
          point.time_ns <= start ? 0 : static_cast<std::int64_t>((point.time_ns - start) / 1'000'000));
      values.push_back(point.value);
    }
    columns.add_differences(name + ".ms", times);
    columns.add_reals(name + ".value", values);
    out.push_back({{"name", line.name}, {"unit", line.unit}, {"pid", line.pid}, {"columns", name}});
  }
  return out;
}

}  // namespace fathom::page
