#include "record/bpf/memory_calls.h"

#include <bpf/libbpf.h>

#include <numeric>
#include <utility>

#include "base/abi/cpu_events.h"
#include "bpf_skeleton/fathom_bpf.skel.h"

namespace fathom::sources {

void MemoryCalls::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  bpf_program__set_autoload(skeleton.progs.memory_changed, true);
}

Result<> MemoryCalls::attach() {
  auto link = attach_program(skeleton_->progs.memory_changed);
  if (!link) return tl::unexpected<Error>(link.error());
  link_ = std::move(*link);
  return {};
}

std::uint64_t MemoryCalls::lost() const {
  const auto values = values_of_cpus<std::uint64_t>(skeleton_->maps.mapping_losses);
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace fathom::sources
