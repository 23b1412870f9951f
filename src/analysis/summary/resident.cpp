#include "analysis/summary/resident.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/summary/resident_points.h"
#include "model/free_before.h"

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
  for (const model::Process& process : profile.processes) {
    if (selection.pid && process.pid != *selection.pid) continue;
    const auto before = model::free_before_of(process.pid, profile.meta.facts);
    if (!before) continue;
    memory.free_before_bytes += static_cast<double>(before->bytes);
    if (static_cast<double>(before->bytes) <= most) continue;
    most = static_cast<double>(before->bytes);
    memory.free_in = before->allocator;
  }
  most = 0;
  for (const auto& [allocator, bytes] : free) {
    memory.free_bytes += bytes;
    if (bytes <= most) continue;
    most = bytes;
    memory.free_in = allocator;
  }
}

}  // namespace

std::optional<ResidentMemory> find_resident(const model::Profile& profile, const Selection& selection) {
  const std::vector<TrendPoint> points = resident_points(profile, selection, ResidentPart::kAll);
  if (points.empty()) return std::nullopt;
  ResidentMemory memory;
  for (const TrendPoint& point : points) memory.most = std::max(memory.most, point.value);
  memory.first = points.front().value;
  memory.last = points.back().value;
  memory.trend = find_trend(points);
  // What grew is gone: that is no course that goes on.
  if (memory.trend.shape == TrendShape::kGrowing && memory.last < 0.5 * memory.most)
    memory.trend.shape = TrendShape::kNoise;
  if (memory.trend.shape == TrendShape::kGrowing) memory.first_touch = find_first_touch(profile, selection);
  add_free_memory(profile, selection, memory);
  return memory;
}

}  // namespace fathom::analysis
