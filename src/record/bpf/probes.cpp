// The breakpoints of probes, of functions and of the heap, and their accounts.
#include "base/abi/probe_accounts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "record/bpf/bpf_engine.h"

namespace fathom::sources {
namespace {

std::uint64_t cookie_of(std::uint32_t number, const ProbePoint& point) {
  std::uint64_t cookie = number;
  if (point.returns) cookie |= PROBE_COOKIE_RETURNS;
  if (point.condition)
    cookie |= PROBE_COOKIE_CONDITIONAL | std::uint64_t{*point.condition} << PROBE_COOKIE_CONDITION;
  return cookie;
}

// The kernel counts the semaphore up where it sets the breakpoint and down where it takes it away, which it does when the link is
// closed: also if this process is killed.
Result<bpf_link*> set_breakpoint(const bpf_program* program, std::int32_t pid, const std::string& path,
                                 std::uint64_t offset, std::optional<std::uint64_t> semaphore,
                                 std::uint64_t cookie) {
  LIBBPF_OPTS(bpf_uprobe_opts, options);
  options.bpf_cookie = cookie;
  options.ref_ctr_offset = semaphore.value_or(0);
  bpf_link* link = bpf_program__attach_uprobe_opts(program, pid, path.c_str(), offset, &options);
  if (link != nullptr) return link;
  if (errno == EACCES)
    return fail(ErrorKind::kPermission, "breakpoints in programs are for root (CAP_SYS_ADMIN) only",
                "sudo fathom record ...");
  return system_error(fmt::format("bpf: a breakpoint at offset 0x{:x} of the file", offset), errno);
}

}  // namespace

// Values that stand one behind the other; the number of the first. Those that stand there already are used again: processes that come
// and go run the same programs.
Result<std::uint32_t> BpfEngine::add_probe_values(std::span<const probe_value> values) {
  const auto same = [](const probe_value& a, const probe_value& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  };
  const auto known =
      std::search(probe_values_.begin(), probe_values_.end(), values.begin(), values.end(), same);
  const auto first = static_cast<std::uint32_t>(known - probe_values_.begin());
  if (known != probe_values_.end()) return first;
  if (values.size() > MAX_PROBE_VALUES - probe_values_.size())
    return fail(ErrorKind::kUsage, fmt::format("bpf: more than {} values of probes", MAX_PROBE_VALUES),
                "fewer probes at a time");
  for (const probe_value& value : values) {
    const auto number = static_cast<std::uint32_t>(probe_values_.size());
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.probe_values), &number, &value, BPF_ANY) != 0)
      return system_error("bpf: a value of a probe", errno);
    probe_values_.push_back(value);
  }
  return first;
}

Result<> BpfEngine::add_probe(const probe_wanted& wanted, const std::vector<ProbePoint>& points) {
  if (probes_ == MAX_PROBES)
    return fail(ErrorKind::kUsage, fmt::format("bpf: more than {} probes", MAX_PROBES), "fewer at a time");
  const std::uint32_t number = probes_++;
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.probes_wanted), &number, &wanted, BPF_ANY) != 0)
    return system_error("bpf: a probe", errno);
  for (const ProbePoint& point : points) {
    std::uint64_t cookie = cookie_of(number, point);
    if (point.value) {
      const auto value = add_probe_values({&*point.value, 1});
      if (!value) return tl::unexpected<Error>(value.error());
      cookie |= std::uint64_t{*value} << PROBE_COOKIE_VALUE;
    }
    const auto link =
        set_breakpoint(point.entry ? skeleton_->progs.probe_entered : skeleton_->progs.probe_left,
                       point.pid.value_or(-1), point.path, point.offset, point.semaphore, cookie);
    if (!link) return tl::unexpected<Error>(link.error());
    links_.push_back(*link);
  }
  return {};
}

Result<> BpfEngine::add_heap_probes(std::int32_t pid, const std::vector<HeapProbePoint>& points) {
  if (!options_.heap_probes)
    return fail(ErrorKind::kUnsupported,
                "bpf: the heap's static probes need Linux 5.15 or later (bpf_get_attach_cookie)",
                "a newer kernel");
  const auto key = static_cast<std::uint32_t>(pid);
  const heap_probe_counters none{};
  const int sums = bpf_map__fd(skeleton_->maps.heap_probe_sums);
  if (bpf_map_update_elem(sums, &key, &none, BPF_NOEXIST) != 0 && errno != EEXIST)
    return system_error("bpf: the counters of a process with probes", errno);
  const std::uint32_t round = heap_rounds_[pid];
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.heap_probe_rounds), &key, &round, BPF_ANY) != 0)
    return system_error("bpf: the round of a process with probes", errno);
  std::vector<bpf_link*> links;
  // Frees first: if a block's allocation is reported, so is its free.
  for (const bool frees : {true, false}) {
    for (const HeapProbePoint& point : points) {
      if (point.frees != frees) continue;
      const auto first = add_probe_values(point.values);
      auto link =
          first ? set_breakpoint(frees ? skeleton_->progs.heap_probe_free : skeleton_->progs.heap_probe_alloc,
                                 pid, point.path, point.offset, point.semaphore,
                                 std::uint64_t{*first} << PROBE_COOKIE_VALUE | round)
                : tl::unexpected<Error>(first.error());
      if (!link) {
        for (bpf_link* set : links) bpf_link__destroy(set);
        return tl::unexpected<Error>(link.error());
      }
      links.push_back(*link);
    }
  }
  auto& all = heap_links_[pid];
  all.insert(all.end(), links.begin(), links.end());
  return {};
}

void BpfEngine::remove_heap_probes(std::int32_t pid) {
  const auto links = heap_links_.find(pid);
  if (links == heap_links_.end()) return;
  // Later events reach no one, even from breakpoints whose descriptors a child of ours still has.
  const auto key = static_cast<std::uint32_t>(pid);
  const std::uint32_t round = ++heap_rounds_[pid];
  (void)bpf_map_update_elem(bpf_map__fd(skeleton_->maps.heap_probe_rounds), &key, &round, BPF_ANY);
  for (bpf_link* link : links->second) bpf_link__destroy(link);
  heap_links_.erase(links);
}

void BpfEngine::remove_all_heap_probes() {
  while (!heap_links_.empty()) remove_heap_probes(heap_links_.begin()->first);
}

heap_probe_counters BpfEngine::heap_probe_sums(std::int32_t pid) const {
  heap_probe_counters sums{};
  const auto key = static_cast<std::uint32_t>(pid);
  if (options_.heap_probes)
    (void)bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.heap_probe_sums), &key, &sums);
  return sums;
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
