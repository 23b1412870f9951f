#include "analysis/core/heap_losses.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fathom::analysis {
namespace {

using namespace model;

double seconds_of_loss(const Profile& profile, std::uint64_t time_ns) {
  return (static_cast<double>(time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
}

}  // namespace

HeapDropped heap_dropped(const Profile& profile, std::optional<std::int32_t> pid) {
  HeapDropped dropped;
  std::set<std::pair<std::int32_t, std::uint64_t>> programs;  // one has a heap of what it maps, too
  for (const Heap& heap : profile.heap.heaps) {
    const std::int32_t owner = profile.processes[heap.process.value].pid;
    if (!heap.image_ended || (pid && owner != *pid)) continue;
    if (programs.emplace(owner, heap.start_ns).second) ++dropped.programs;
    dropped.blocks += static_cast<double>(heap.dropped_blocks);
    dropped.bytes += static_cast<double>(heap.dropped_bytes);
  }
  return dropped;
}

HeapLosses heap_losses(const Profile& profile, std::optional<std::int32_t> pid) {
  HeapLosses losses;
  losses.exactness = exactness_of(profile, pid);
  for (const HeapOutage& outage : profile.heap.outages) {
    if (pid && profile.processes[profile.heap.heaps[outage.heap.value].process.value].pid != *pid) continue;
    losses.outages.push_back(
        {seconds_of_loss(profile, outage.start_ns), seconds_of_loss(profile, outage.end_ns)});
  }
  std::sort(losses.outages.begin(), losses.outages.end(),
            [](const OutageRow& a, const OutageRow& b) { return a.from_s < b.from_s; });
  return losses;
}

}  // namespace fathom::analysis
