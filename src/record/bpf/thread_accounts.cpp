// The accounts of threads, which the programs at switches keep and user space reads and enters.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <atomic>

#include "base/abi/off_cpu_events.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "record/bpf/switches.h"

namespace fathom::sources {

thread_account* Switches::place_of(std::uint32_t tid) const {
  if (options_.older_programs) return nullptr;
  if (!accounts_)
    accounts_.emplace(bpf_map__fd(skeleton_->maps.thread_accounts), sizeof(thread_account), ACCOUNTS);
  return static_cast<thread_account*>(accounts_->at(tid % ACCOUNTS));
}

void Switches::enter_thread(std::int32_t tid, const thread_account& account) {
  const auto key = static_cast<std::uint32_t>(tid);
  thread_account fresh = account;
  thread_account* place = place_of(key);
  if (place == nullptr) return enter_in_table(key, fresh);
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

void Switches::enter_in_table(std::uint32_t tid, thread_account account) {
  account.tid = tid;
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.crowded_accounts), &tid, &account, BPF_NOEXIST);
}

std::optional<thread_account> Switches::account_in_table(std::uint32_t tid) const {
  thread_account account{};
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.crowded_accounts), &tid, &account) != 0)
    return std::nullopt;
  return account;
}

std::optional<thread_account> Switches::account(std::int32_t tid) const {
  const auto key = static_cast<std::uint32_t>(tid);
  thread_account* place = place_of(key);
  if (place == nullptr) return account_in_table(key);
  const std::atomic_ref<std::uint32_t> owner(place->tid);
  thread_account account{};
  if (owner.load() == key) {
    account = *place;
    return owner.load() == key ? std::optional(account) : std::nullopt;  // it may have ended meanwhile
  }
  return skeleton_->bss->is_crowded == 0 ? std::nullopt : account_in_table(key);
}

}  // namespace fathom::sources
