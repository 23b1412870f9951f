#include "record/bpf/bpf_heap_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/abi/cpu_events.h"
#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"

namespace fathom::sources {

void BpfHeapProbes::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  bpf_program__set_autoload(skeleton.progs.heap_probe_alloc, true);
  bpf_program__set_autoload(skeleton.progs.heap_probe_free, true);
  bpf_map__set_max_entries(skeleton.maps.heap_probe_sums, MAX_PROCESSES);
  bpf_map__set_max_entries(skeleton.maps.heap_probe_rounds, MAX_PROCESSES);
}

void BpfHeapProbes::detach() {
  while (!links_.empty()) remove(links_.begin()->first);
}

Result<> BpfHeapProbes::add(std::int32_t pid, const std::vector<HeapProbePoint>& points) {
  const auto key = static_cast<std::uint32_t>(pid);
  const heap_probe_counters none{};
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.heap_probe_sums), &key, &none, BPF_NOEXIST) != 0 &&
      errno != EEXIST)
    return system_error("bpf: the counters of a process with probes", errno);
  const std::uint32_t round = rounds_[pid];
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.heap_probe_rounds), &key, &round, BPF_ANY) != 0)
    return system_error("bpf: the round of a process with probes", errno);
  std::vector<BpfLink> links;
  // Frees first: if a block's allocation is reported, so is its free.
  for (const bool frees : {true, false}) {
    const bpf_program* program = frees ? skeleton_->progs.heap_probe_free : skeleton_->progs.heap_probe_alloc;
    for (const HeapProbePoint& point : points) {
      if (point.frees != frees) continue;
      const auto first = breakpoints_.add_values(point.values);
      if (!first) return tl::unexpected<Error>(first.error());
      auto link = breakpoints_.set(program, pid, point.path, point.offset, point.semaphore,
                                   std::uint64_t{*first} << PROBE_COOKIE_VALUE | round);
      if (!link) return tl::unexpected<Error>(link.error());
      links.push_back(std::move(*link));
    }
  }
  std::ranges::move(links, std::back_inserter(links_[pid]));
  return {};
}

void BpfHeapProbes::remove(std::int32_t pid) {
  const auto links = links_.find(pid);
  if (links == links_.end()) return;
  // Later events reach no one, even from breakpoints whose descriptors a child of ours still has.
  const auto key = static_cast<std::uint32_t>(pid);
  const std::uint32_t round = ++rounds_[pid];
  (void)bpf_map_update_elem(bpf_map__fd(skeleton_->maps.heap_probe_rounds), &key, &round, BPF_ANY);
  links_.erase(links);
}

heap_probe_counters BpfHeapProbes::sums(std::int32_t pid) const {
  heap_probe_counters sums{};
  const auto key = static_cast<std::uint32_t>(pid);
  (void)bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.heap_probe_sums), &key, &sums);
  return sums;
}

}  // namespace fathom::sources
