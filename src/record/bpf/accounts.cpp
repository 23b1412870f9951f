// What the event programs have booked: the accounts of threads, and their own counters.
#include "base/abi/off_cpu_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <atomic>
#include <numeric>

#include "bpf_skeleton/fathom_bpf.skel.h"
#include "record/bpf/bpf_engine.h"

namespace fathom::sources {

thread_account* BpfEngine::place_of(std::uint32_t tid) const {
  return accounts_ ? static_cast<thread_account*>(accounts_->at(tid % ACCOUNTS)) : nullptr;
}

void BpfEngine::enter_thread(std::int32_t tid, const thread_account& account) {
  const auto key = static_cast<std::uint32_t>(tid);
  thread_account fresh = account;
  thread_account* place = place_of(key);
  if (place == nullptr) {
    if (options_.off_cpu) enter_in_table(key, fresh);
    return;
  }
  std::atomic_ref<std::uint32_t> owner(place->tid);
  if (std::uint32_t nobody = 0; owner.compare_exchange_strong(nobody, ACCOUNT_TAKEN)) {
    fresh.tid = ACCOUNT_TAKEN;
    *place = fresh;
    owner.store(key);
  } else if (nobody != key) {
    skeleton_->bss->is_crowded = 1;
    enter_in_table(key, fresh);
  }
}

void BpfEngine::enter_in_table(std::uint32_t tid, thread_account account) {
  account.tid = tid;
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.crowded_accounts), &tid, &account, BPF_NOEXIST);
}

std::optional<thread_account> BpfEngine::account_in_table(std::uint32_t tid) const {
  thread_account account{};
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.crowded_accounts), &tid, &account) != 0)
    return std::nullopt;
  return account;
}

std::optional<thread_account> BpfEngine::account(std::int32_t tid) const {
  const auto key = static_cast<std::uint32_t>(tid);
  thread_account* place = place_of(key);
  if (place == nullptr) return options_.off_cpu ? account_in_table(key) : std::nullopt;
  const std::atomic_ref<std::uint32_t> owner(place->tid);
  thread_account account{};
  if (owner.load() == key) {
    account = *place;
    return owner.load() == key ? std::optional(account) : std::nullopt;  // it may have ended meanwhile
  }
  return skeleton_->bss->is_crowded == 0 ? std::nullopt : account_in_table(key);
}

// One value for each possible CPU, not for the online ones: that is what the kernel copies. Empty if it cannot be read.
template <class Value>
static std::vector<Value> values_of_cpus(const bpf_map* map) {
  const int cpus = libbpf_num_possible_cpus();
  std::vector<Value> values(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
  const std::uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(map), &zero, values.data()) != 0) values.clear();
  return values;
}

cpu_counters BpfEngine::counters() const {
  cpu_counters sum{};
  for (const auto& value : values_of_cpus<cpu_counters>(skeleton_->maps.cpu_counters)) {
    sum.samples += value.samples;
    sum.lost_ring_full += value.lost_ring_full;
    sum.stacks_sent += value.stacks_sent;
    sum.stacks_not_sent += value.stacks_not_sent;
    sum.kernel_truncated += value.kernel_truncated;
    sum.runs += value.runs;
    sum.run_ns += value.run_ns;
  }
  return sum;
}

BpfEngine::SwitchCounters BpfEngine::switch_counters() const {
  SwitchCounters sum;
  if (!options_.off_cpu) return sum;
  for (const auto& value : values_of_cpus<off_cpu_counters>(skeleton_->maps.off_cpu_counters)) {
    sum.switches += value.switches;
    sum.walks += value.walks;
    sum.walk_ns += value.walk_ns;
    sum.run_ns += value.run_ns + value.walk_ns;
    sum.lost_ring_full += value.lost_ring_full;
    sum.lost_accounts += value.lost_accounts;
    sum.lost_faults += value.lost_faults;
    sum.untold_switches += value.untold_switches;
  }
  return sum;
}

std::uint64_t BpfEngine::memory_calls_lost() const {
  if (!options_.mappings) return 0;
  const auto values = values_of_cpus<std::uint64_t>(skeleton_->maps.mapping_losses);
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace fathom::sources
