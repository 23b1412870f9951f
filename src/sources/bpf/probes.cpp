// The breakpoints of probes, and their accounts.
#include "abi/probe_accounts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>

#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "sources/bpf/bpf_engine.h"

namespace fathom::sources {
namespace {

std::uint64_t cookie_of(std::uint32_t number, const ProbePoint& point) {
  std::uint64_t cookie = number;
  if (point.returns) cookie |= PROBE_COOKIE_RETURNS;
  if (point.condition)
    cookie |= PROBE_COOKIE_CONDITIONAL | std::uint64_t{*point.condition} << PROBE_COOKIE_CONDITION;
  return cookie;
}

}  // namespace

Result<> BpfEngine::add_probe(const probe_wanted& wanted, const std::vector<ProbePoint>& points) {
  if (probes_ == MAX_PROBES)
    return fail(ErrorKind::kUsage, fmt::format("bpf: more than {} probes", MAX_PROBES), "fewer at a time");
  const std::uint32_t number = probes_++;
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.probes_wanted), &number, &wanted, BPF_ANY) != 0)
    return system_error("bpf: a probe", errno);
  for (const ProbePoint& point : points) {
    LIBBPF_OPTS(bpf_uprobe_opts, options);
    options.bpf_cookie = cookie_of(number, point);
    const bpf_program* program = point.entry ? skeleton_->progs.probe_entered : skeleton_->progs.probe_left;
    bpf_link* link = bpf_program__attach_uprobe_opts(program, point.pid.value_or(-1), point.path.c_str(),
                                                     point.offset, &options);
    if (link == nullptr && errno == EACCES)
      return fail(ErrorKind::kPermission, "breakpoints in programs are for root (CAP_SYS_ADMIN) only",
                  "sudo fathom record --probe ...");
    if (link == nullptr)
      return system_error(fmt::format("bpf: a breakpoint at offset 0x{:x} of the file", point.offset), errno);
    links_.push_back(link);
  }
  return {};
}

std::vector<ProbeReading> BpfEngine::read_probes() const {
  std::vector<ProbeReading> readings;
  if (probes_ == 0) return readings;
  const int accounts = bpf_map__fd(skeleton_->maps.probe_accounts);
  constexpr std::uint32_t kAtOnce = 4096;
  std::vector<probe_key> keys(kAtOnce);
  std::vector<probe_account> values(kAtOnce);
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  std::uint32_t place = 0, count = 0;
  // No account is ever removed, so none is skipped.
  for (int error = 0; error == 0;) {
    std::uint32_t* from = readings.empty() ? nullptr : &place;
    std::uint32_t next = 0;
    count = kAtOnce;
    error = bpf_map_lookup_batch(accounts, from, &next, keys.data(), values.data(), &count, &options);
    if (error != 0 && error != -ENOENT) break;  // ENOENT: those were the last
    for (std::uint32_t i = 0; i < count; ++i) readings.push_back({keys[i], values[i]});
    if (count == 0) break;
    place = next;
  }
  return readings;
}

probe_counters BpfEngine::probe_sums() const {
  probe_counters sum{};
  if (probes_ == 0) return sum;
  const int cpus = libbpf_num_possible_cpus();
  std::vector<probe_counters> values(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
  const std::uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.probe_counters), &zero, values.data()) != 0) return sum;
  for (const probe_counters& value : values) {
    sum.hits += value.hits;
    sum.run_ns += value.run_ns;
    sum.calls_lost += value.calls_lost;
    sum.stacks_lost += value.stacks_lost;
  }
  return sum;
}

}  // namespace fathom::sources
