#include "record/bpf/bpf_system_calls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bpf_skeleton/fathom_bpf.skel.h"

namespace fathom::sources {
namespace {

// No entry is ever removed, so none is skipped.
template <class Reading>
std::vector<Reading> entries_of(const bpf_map* map) {
  using Key = decltype(Reading::key);
  using Account = decltype(Reading::account);
  constexpr std::uint32_t kAtOnce = 4096;
  std::vector<Reading> readings;
  std::vector<Key> keys(kAtOnce);
  std::vector<Account> values(kAtOnce);
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  std::uint32_t place = 0;
  for (int error = 0; error == 0;) {
    std::uint32_t* from = readings.empty() ? nullptr : &place;
    std::uint32_t next = 0, count = kAtOnce;
    error = bpf_map_lookup_batch(bpf_map__fd(map), from, &next, keys.data(), values.data(), &count, &options);
    if (error != 0 && error != -ENOENT) break;  // ENOENT: those were the last
    for (std::uint32_t i = 0; i < count; ++i) readings.push_back({keys[i], values[i]});
    if (count == 0) break;
    place = next;
  }
  return readings;
}

}  // namespace

void BpfSystemCalls::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  bpf_program__set_autoload(skeleton.progs.system_call_entered, true);
  bpf_program__set_autoload(skeleton.progs.system_call_left, true);
  bpf_map__set_max_entries(skeleton.maps.system_call_accounts, SYSTEM_CALL_ACCOUNTS);
  bpf_map__set_max_entries(skeleton.maps.system_call_starts, SYSTEM_CALLS_IN_PROGRESS);
  bpf_map__set_max_entries(skeleton.maps.file_accounts, FILE_ACCOUNTS);
  constexpr std::uint32_t kWindowsPerSecond = 1'000'000'000 / SYSTEM_CALL_WINDOW_NS;
  skeleton.rodata->system_call_budget = std::max(1u, stacks_per_second_ / kWindowsPerSecond);
}

std::uint64_t BpfSystemCalls::kernel_memory_bytes() const {
  return std::uint64_t{SYSTEM_CALL_ACCOUNTS} * (sizeof(system_call_key) + sizeof(system_call_account)) +
         std::uint64_t{SYSTEM_CALLS_IN_PROGRESS} * (4 + sizeof(system_call_start)) +
         std::uint64_t{FILE_ACCOUNTS} * (sizeof(file_key) + sizeof(file_account));
}

// The end first: a call whose beginning is seen can be seen to end.
Result<> BpfSystemCalls::attach() {
  for (bpf_program* program : {skeleton_->progs.system_call_left, skeleton_->progs.system_call_entered}) {
    auto link = attach_program(program);
    if (!link) return tl::unexpected<Error>(link.error());
    links_.push_back(std::move(*link));
  }
  return {};
}

std::vector<SystemCallReading> BpfSystemCalls::calls() const {
  return entries_of<SystemCallReading>(skeleton_->maps.system_call_accounts);
}

std::vector<FileReading> BpfSystemCalls::files() const {
  return entries_of<FileReading>(skeleton_->maps.file_accounts);
}

system_call_counters BpfSystemCalls::sums() const {
  system_call_counters sum{};
  for (const auto& cpu : values_of_cpus<system_call_counters>(skeleton_->maps.system_call_counters)) {
    sum.calls += cpu.calls;
    sum.run_ns += cpu.run_ns;
    sum.lost += cpu.lost;
  }
  return sum;
}

}  // namespace fathom::sources
