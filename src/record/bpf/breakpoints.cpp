#include "record/bpf/breakpoints.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/parse.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"

namespace fathom::sources {
namespace {

// The kernel's kind of events for breakpoints in programs, and where their configuration has the place of a semaphore.
struct UprobeEvents {
  std::uint32_t type = 0;
  unsigned semaphore_shift = 0;
};

std::optional<UprobeEvents> uprobe_events() {
  const std::string folder = "/sys/bus/event_source/devices/uprobe/";
  const auto type = read_file(folder + "type"), format = read_file(folder + "format/ref_ctr_offset");
  constexpr std::string_view kConfig = "config:";  // "config:32-63"
  if (!type || !format || !format->starts_with(kConfig)) return std::nullopt;
  const std::string_view bits = std::string_view(*format).substr(kConfig.size());
  const auto number = parse_number<std::uint32_t>(std::string_view(*type).substr(0, type->find('\n')));
  const auto shift = parse_number<unsigned>(bits.substr(0, bits.find('-')));
  if (!number || !shift || *shift >= 64) return std::nullopt;
  return UprobeEvents{*number, *shift};
}

// A program learns by its semaphore that somebody listens, and the kernel counts it up when the event is opened, before a BPF program
// can be attached: what was reported in between was lost, in 4 of 20 trials (2026-11). An event that waits for an exec sets no
// breakpoint in the process, so it gets its program first. A second event of the same place then sets the breakpoint for both, and
// may be closed at once, as the first one keeps it. Null: the kernel does not offer that.
BpfLink listen_before_it_is_seen(const bpf_program* program, std::int32_t pid, const std::string& path,
                                 std::uint64_t offset, std::uint64_t semaphore, std::uint64_t cookie) {
  static const std::optional<UprobeEvents> events = uprobe_events();
  if (!events) return nullptr;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = events->type;
  attributes.config = semaphore << events->semaphore_shift;
  attributes.uprobe_path = reinterpret_cast<std::uintptr_t>(path.c_str());
  attributes.probe_offset = offset;
  attributes.enable_on_exec = 1;
  auto waiting = open_event(attributes, pid, -1, path);
  if (!waiting) return nullptr;
  LIBBPF_OPTS(bpf_perf_event_opts, options);
  options.bpf_cookie = cookie;
  BpfLink link(bpf_program__attach_perf_event_opts(program, waiting->get(), &options));
  if (link == nullptr) return nullptr;
  (void)waiting->release();  // the link closes it
  attributes.enable_on_exec = 0;
  return open_event(attributes, pid, -1, path) ? std::move(link) : nullptr;
}

}  // namespace

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
  if (semaphore && pid > 0)
    if (BpfLink link = listen_before_it_is_seen(program, pid, path, offset, *semaphore, cookie);
        link != nullptr)
      return link;
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
