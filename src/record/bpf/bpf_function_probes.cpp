#include "record/bpf/bpf_function_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"

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

void BpfFunctionProbes::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  bpf_program__set_autoload(skeleton.progs.probe_entered, true);
  bpf_program__set_autoload(skeleton.progs.probe_left, true);
  bpf_map__set_max_entries(skeleton.maps.probe_accounts, PROBE_ACCOUNTS);
  bpf_map__set_max_entries(skeleton.maps.probe_calls, PROBE_CALLS);
  bpf_map__set_max_entries(skeleton.maps.probe_span_ring, PROBE_SPAN_RING);
}

std::uint64_t BpfFunctionProbes::kernel_memory_bytes() const {
  return PROBE_ACCOUNTS * (sizeof(probe_key) + sizeof(probe_account)) +
         PROBE_CALLS * (sizeof(probe_call_key) + sizeof(probe_call)) + PROBE_SPAN_RING;
}

Result<> BpfFunctionProbes::add(const probe_wanted& wanted, const std::vector<ProbePoint>& points) {
  if (count_ == MAX_PROBES)
    return fail(ErrorKind::kUsage, fmt::format("bpf: more than {} probes", MAX_PROBES), "fewer at a time");
  if (wanted.span != 0 && !spans_) {
    const auto keep = [](void* probes, void* data, std::size_t size) {
      probe_span span{};
      if (size < sizeof span) return 0;
      std::memcpy(&span, data, sizeof span);
      static_cast<BpfFunctionProbes*>(probes)->ended_.push_back(span);
      return 0;
    };
    spans_.reset(ring_buffer__new(bpf_map__fd(skeleton_->maps.probe_span_ring), keep, this, nullptr));
    if (!spans_) return system_error("bpf: the ring of spans", errno);
  }
  const std::uint32_t number = count_++;
  if (wanted.span == PROBE_SPAN_BEGIN) begins_.insert(number);
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.probes_wanted), &number, &wanted, BPF_ANY) != 0)
    return system_error("bpf: a probe", errno);
  for (const ProbePoint& point : points) {
    std::uint64_t cookie = cookie_of(number, point);
    if (point.value) {
      const auto value = breakpoints_.add_values({&*point.value, 1});
      if (!value) return tl::unexpected<Error>(value.error());
      cookie |= std::uint64_t{*value} << PROBE_COOKIE_VALUE;
    }
    auto link = breakpoints_.set(point.entry ? skeleton_->progs.probe_entered : skeleton_->progs.probe_left,
                                 point.pid.value_or(-1), point.path, point.offset, point.semaphore, cookie);
    if (!link) return tl::unexpected<Error>(link.error());
    links_.push_back(std::move(*link));
  }
  return {};
}

std::vector<ProbeReading> BpfFunctionProbes::read() const {
  std::vector<ProbeReading> readings;
  if (count_ == 0) return readings;
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

probe_counters BpfFunctionProbes::sums() const {
  probe_counters sum{};
  if (count_ == 0) return sum;
  for (const auto& value : values_of_cpus<probe_counters>(skeleton_->maps.probe_counters)) {
    sum.hits += value.hits;
    sum.run_ns += value.run_ns;
    sum.calls_lost += value.calls_lost;
    sum.stacks_lost += value.stacks_lost;
    sum.spans_lost += value.spans_lost;
  }
  return sum;
}

std::vector<probe_span> BpfFunctionProbes::take_spans() {
  if (spans_) (void)ring_buffer__consume(spans_.get());
  return std::exchange(ended_, {});
}

std::vector<OpenSpan> BpfFunctionProbes::open_spans() const {
  std::vector<OpenSpan> open;
  if (begins_.empty()) return open;
  const int calls = bpf_map__fd(skeleton_->maps.probe_calls);
  probe_call_key key{}, next{};
  for (const probe_call_key* at = nullptr; bpf_map_get_next_key(calls, at, &next) == 0; at = &key) {
    key = next;
    probe_call call{};
    if (!begins_.contains(key.probe) || bpf_map_lookup_elem(calls, &key, &call) != 0) continue;
    open.push_back(
        {key.probe, static_cast<std::int32_t>(key.pid), static_cast<std::int32_t>(call.tid), call.start_ns});
  }
  return open;
}

void BpfFunctionProbes::FreeRing::operator()(ring_buffer* ring) const {
  ring_buffer__free(ring);
}

}  // namespace fathom::sources
