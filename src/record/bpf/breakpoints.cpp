#include "record/bpf/breakpoints.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"

namespace fathom::sources {

void Breakpoints::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  auto& maps = skeleton.maps;
  bpf_map__set_max_entries(maps.probe_values, MAX_PROBE_VALUES);
  bpf_map__set_max_entries(maps.stack_buffers, bpf_map__max_entries(maps.stack_buffers) +
                                                   bpf_map__max_entries(maps.probe_buffers_taken));
  skeleton.rodata->probe_budget = std::max(1u, calls_per_second_ / 10);
}

Result<> Breakpoints::attach() {
  __atomic_store_n(&skeleton_->bss->probes_ended, 0, __ATOMIC_SEQ_CST);  // a rehearsal ended, too
  return {};
}

void Breakpoints::detach() {
  __atomic_store_n(&skeleton_->bss->probes_ended, 1, __ATOMIC_SEQ_CST);
}

// The kernel counts the semaphore up where it sets the breakpoint and down where it takes it away, which it does when the link is
// closed: also if this process is killed.
Result<BpfLink> Breakpoints::set(const bpf_program* program, std::int32_t pid, const std::string& path,
                                 std::uint64_t offset, std::optional<std::uint64_t> semaphore,
                                 std::uint64_t cookie) const {
  LIBBPF_OPTS(bpf_uprobe_opts, options);
  options.bpf_cookie = cookie;
  options.ref_ctr_offset = semaphore.value_or(0);
  if (BpfLink link(bpf_program__attach_uprobe_opts(program, pid, path.c_str(), offset, &options));
      link != nullptr)
    return link;
  if (errno == EACCES)
    return fail(ErrorKind::kPermission, "breakpoints in programs are for root (CAP_SYS_ADMIN) only",
                "sudo fathom record ...");
  return system_error(fmt::format("bpf: a breakpoint at offset 0x{:x} of the file", offset), errno);
}

// Those that are there already are used again: processes that come and go run the same programs.
Result<std::uint32_t> Breakpoints::add_values(std::span<const probe_value> values) {
  const auto same = [](const probe_value& a, const probe_value& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  };
  const auto known = std::search(values_.begin(), values_.end(), values.begin(), values.end(), same);
  const auto first = static_cast<std::uint32_t>(known - values_.begin());
  if (known != values_.end()) return first;
  if (values.size() > MAX_PROBE_VALUES - values_.size())
    return fail(ErrorKind::kUsage, fmt::format("bpf: more than {} values of probes", MAX_PROBE_VALUES),
                "fewer probes at a time");
  for (const probe_value& value : values) {
    const auto number = static_cast<std::uint32_t>(values_.size());
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.probe_values), &number, &value, BPF_ANY) != 0)
      return system_error("bpf: a value of a probe", errno);
    values_.push_back(value);
  }
  return first;
}

}  // namespace fathom::sources
