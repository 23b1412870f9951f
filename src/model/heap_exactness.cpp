#include "model/heap_exactness.h"

#include <algorithm>

namespace fathom::model {
namespace {

void add(HeapExactness& all, const Profile& profile, HeapId id) {
  const Heap& heap = profile.heap.heaps[id.value];
  (heap.mode == HeapMode::kExact ? all.exact : all.sampled) = true;
  all.events += heap.events;
  all.lost_ring_full += heap.lost_ring_full;
  all.lost_no_ring += heap.lost_no_ring;
  all.lost_throwing += heap.lost_throwing;
  all.lost_set_full += heap.lost_set_full;
  all.damaged_rings += heap.lost_damaged;
  all.switched_off = all.switched_off || heap.switched_off;
  for (const HeapOutage& outage : profile.heap.outages) {
    if (outage.heap != id) continue;
    ++all.outages;
    all.outage_ns += outage.end_ns - outage.start_ns;
    all.known_since_ns = std::max(all.known_since_ns, outage.end_ns);
  }
}

}  // namespace

HeapExactness exactness_of(const Profile& profile, HeapId heap) {
  HeapExactness one;
  add(one, profile, heap);
  return one;
}

HeapExactness exactness_of(const Profile& profile, std::optional<std::int32_t> pid) {
  HeapExactness all;
  for (std::uint32_t i = 0; i < profile.heap.heaps.size(); ++i)
    if (!pid || profile.processes[profile.heap.heaps[i].process.value].pid == *pid) add(all, profile, {i});
  return all;
}

}  // namespace fathom::model
