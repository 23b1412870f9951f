#include "analysis/heap/heap_pairing.h"

#include <set>

#include "analysis/core/unseen_allocators.h"
#include "analysis/heap/untraced_processes.h"
#include "model/heap_exactness.h"
#include "model/left_changed.h"

namespace fathom::analysis {
namespace {

using namespace model;

// Of an allocator of which a block was seen, so that it is one of those that the process uses.
bool has_partly_hooked_allocator(const Profile& profile, std::int32_t pid) {
  const HeapTables& heap = profile.heap;
  std::set<std::uint32_t> used, traced;
  for (const HeapSite& site : heap.sites)
    if (profile.processes[heap.heaps[site.heap.value].process.value].pid == pid)
      used.insert(site.allocator.value);
  for (const HeapHook& hook : heap.hooks)
    if (hook.kind != HookKind::kNone) traced.insert(hook.allocator.value);
  for (const HeapHook& hook : heap.hooks)
    if (hook.kind == HookKind::kNone && traced.contains(hook.allocator.value) &&
        used.contains(hook.allocator.value))
      return true;
  return false;
}

}  // namespace

HeapPairing pairing_of(const Profile& profile, std::int32_t pid, const Selection& selection) {
  const HeapExactness exactness = exactness_of(profile, pid);
  HeapPairing pairing;
  pairing.events_lost = exactness.lost() != 0 || exactness.damaged_rings != 0;
  pairing.outages = exactness.outages != 0 || exactness.switched_off;
  for (const Heap& heap : profile.heap.heaps)
    if (profile.processes[heap.process.value].pid == pid)
      pairing.frees_unseen = pairing.frees_unseen || heap.unseen_frees != 0;
  pairing.partly_hooked = has_partly_hooked_allocator(profile, pid);
  pairing.claims_impossible = impossible_events_of(pid, profile.meta.facts) != 0;
  pairing.unseen_allocators = !unseen_allocators(profile).empty();
  pairing.missed_processes = !untraced_processes(profile, selection).empty();
  return pairing;
}

}  // namespace fathom::analysis
