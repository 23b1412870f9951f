#include "analysis/summary/resident.h"

#include <algorithm>
#include <map>
#include <vector>

namespace fathom::analysis {
namespace {

// Rows of allocators are called "glibc: free among live blocks" (attach/allocators/state/held_words.h).
void add_free_memory(const model::Profile& profile, const Selection& selection, ResidentMemory& memory) {
  std::map<std::uint32_t, std::uint64_t> last;  // by process
  for (const model::MemoryRange& row : profile.memory_ranges)
    if (row.time_ns < profile.meta.start_ns + selection.to_ns.value_or(UINT64_MAX - profile.meta.start_ns))
      last[row.process.value] = std::max(last[row.process.value], row.time_ns);
  std::map<std::string, double> free;
  for (const model::MemoryRange& row : profile.memory_ranges) {
    const std::string_view name = profile.strings[row.name];
    const std::size_t at = name.find(": free");
    if (row.kind != model::MemoryKind::kAllocator || at == name.npos ||
        last[row.process.value] != row.time_ns ||
        (selection.pid && profile.processes[row.process.value].pid != *selection.pid))
      continue;
    free[std::string(name.substr(0, at))] += static_cast<double>(row.rss_bytes);
  }
  double most = 0;
  for (const auto& [allocator, bytes] : free) {
    memory.free_bytes += bytes;
    if (bytes <= most) continue;
    most = bytes;
    memory.free_in = allocator;
  }
}

}  // namespace

std::optional<ResidentMemory> find_resident(const model::Profile& profile, const Selection& selection) {
  // Series of one process are read at the same moments; those of several are added up to the last value of each.
  std::map<std::uint64_t, std::map<std::size_t, double>> moments;
  for (std::size_t i = 0; i < profile.series.size(); ++i) {
    const model::Series& series = profile.series[i];
    const std::string_view name = profile.strings[series.name];
    if (!name.starts_with("memory.rss_") || (selection.pid && series.pid != *selection.pid)) continue;
    for (const model::Point& point : series.points) {
      const std::uint64_t into =
          point.time_ns > profile.meta.start_ns ? point.time_ns - profile.meta.start_ns : 0;
      if (into >= selection.from_ns.value_or(0) && into < selection.to_ns.value_or(UINT64_MAX))
        moments[point.time_ns][i] = point.value;
    }
  }
  if (moments.empty()) return std::nullopt;
  std::map<std::size_t, double> now;
  std::vector<TrendPoint> points;
  ResidentMemory memory;
  for (const auto& [time_ns, values] : moments) {
    for (const auto& [series, value] : values) now[series] = value;
    double sum = 0;
    for (const auto& [series, value] : now) sum += value;
    if (sum <= 0) continue;  // it had ended
    points.push_back(
        {(static_cast<double>(time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9, sum});
    memory.most = std::max(memory.most, sum);
  }
  if (points.empty()) return std::nullopt;
  memory.first = points.front().value;
  memory.last = points.back().value;
  memory.trend = find_trend(points);
  if (memory.trend.shape == TrendShape::kGrowing) memory.first_touch = find_first_touch(profile, selection);
  add_free_memory(profile, selection, memory);
  return memory;
}

}  // namespace fathom::analysis
