#include "record/session/tracking/bpf_waits.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "linux/process/status.h"
#include "record/session/waits/blocked_walk.h"

namespace fathom::session {
namespace {

struct Split {
  std::uint64_t waited_ns, queued_ns;
};

// A wait in progress, up to now.
Split split_wait(const thread_account& account, std::uint64_t now_ns) {
  if (account.state == 0) return {0, now_ns - account.out_ns};
  const bool woken =
      account.woken_ns >= account.out_ns && account.woken_ns != 0 && account.woken_ns <= now_ns;
  const std::uint64_t woken_ns = woken ? account.woken_ns : now_ns;
  return {woken_ns - account.out_ns, now_ns - woken_ns};
}

// A wait in progress whose stack is walked when it is over.
bool is_open(const thread_account& account) {
  return account.stack_id == STACK_WHEN_OVER || account.stack_id == STACK_CHOSEN;
}
bool is_walked(const thread_account& account) {
  return account.stack_id != 0 && !is_open(account);
}

// A wait that was walked from outside stands for itself.
void take_from_outside(const sources::Waited& seen, thread_account& account) {
  account.stack_id = seen.stack_id;
  account.weight = 1;
  account.system_call = seen.system_call;
  std::copy(std::begin(seen.arguments), std::end(seen.arguments), account.arguments);
  account.inode = seen.inode;
  account.device = seen.device;
  account.file_mode = seen.file_mode;
  account.peer_family = 0;
  account.socket_state = 0;
  account.lock_key = 0;
}

// The wait of this account, without its times.
sources::Waited described(std::int32_t tid, const thread_account& account) {
  sources::Waited wait;
  wait.pid = static_cast<std::int32_t>(account.pid);
  wait.tid = tid;
  wait.stack_id = account.stack_id;
  wait.system_call = account.system_call;
  wait.weight = account.weight;
  wait.state = kept_task_state(account.state);
  wait.throttled = account.throttled != 0;
  std::copy(std::begin(account.arguments), std::end(account.arguments), wait.arguments);
  wait.fault_address = account.fault_address;
  wait.inode = account.inode;
  wait.device = account.device;
  wait.file_mode = account.file_mode;
  wait.peer_family = account.peer_family;
  std::copy(std::begin(account.peer_address), std::end(account.peer_address), wait.peer_address.begin());
  wait.peer_port = account.peer_port;
  wait.local_port = account.local_port;
  wait.socket_listens = account.socket_state == SOCKET_LISTENS;
  wait.lock_key = account.lock_key;
  return wait;
}

}  // namespace

sources::ThreadWaitTime sums_of(std::int32_t tid, const thread_account& account, std::uint64_t now_ns) {
  sources::ThreadWaitTime times;
  times.time_ns = now_ns;
  times.pid = static_cast<std::int32_t>(account.pid);
  times.tid = tid;
  times.ran_ns = account.ran_ns;
  times.waited_ns = account.waited_ns;
  times.queued_ns = account.queued_ns;
  times.waits = account.waits;
  times.preemptions = account.preemptions;
  times.unwalked_waits = account.unwalked_waits;
  times.unwalked_ns = account.unwalked_ns;
  if (account.in_ns != 0 && account.in_ns < now_ns) times.ran_ns += now_ns - account.in_ns;
  if (account.out_ns != 0 && account.out_ns < now_ns) {
    const Split split = split_wait(account, now_ns);
    times.waited_ns += split.waited_ns;
    times.queued_ns += split.queued_ns;
    (account.state == 0 ? times.queued_ns : times.waited_ns) += account.walk_ns;
    (account.state == 0 ? times.preemptions : times.waits) += 1;
    if (account.stack_id == 0) {
      ++times.unwalked_waits;
      times.unwalked_ns += split.waited_ns + split.queued_ns;
    }
  }
  return times;
}

std::optional<sources::Waited> open_wait(std::int32_t tid, const thread_account& account,
                                         std::uint64_t end_ns) {
  sources::Waited wait = described(tid, account);
  if (!is_walked(account)) return std::nullopt;
  if (account.held_out_ns != 0) {  // over, and its call has not returned
    wait.out_ns = account.held_out_ns;
    wait.waited_ns = account.held_waited_ns;
    wait.queued_ns = account.held_queued_ns;
    return wait;
  }
  if (account.out_ns == 0 || account.out_ns >= end_ns) return std::nullopt;
  const Split split = split_wait(account, end_ns);
  wait.out_ns = account.out_ns;
  wait.waited_ns = split.waited_ns;
  wait.queued_ns = split.queued_ns;
  wait.unfinished = true;
  return wait;
}

// A thread that could run is booked as running: which of the two it was shows at its next switch. One that
// waits gets the stack that it has now, walked from outside.
void BpfWaits::enter(std::int32_t pid, std::uint64_t now_ns, std::vector<sources::Event>& out) {
  BlockedWalker walker(processes_);
  for (const std::int32_t tid : processes_.threads(pid)) {
    thread_account account{};
    account.pid = static_cast<std::uint32_t>(pid);
    const auto stat = process::read_thread_stat(pid, tid);
    if (!stat) continue;
    if (stat->state == 'R') {
      account.in_ns = now_ns;
      switches_.enter_thread(tid, account);
      continue;
    }
    account.out_ns = now_ns;
    account.state = stat->state == 'D' ? 2 : stat->state == 'T' ? 4 : 1;
    account.system_call = -1;
    if (auto blocked = walker.walk(pid, tid, now_ns)) {
      take_from_outside(blocked->wait, account);
      out.emplace_back(std::move(blocked->stack));
    }
    switches_.enter_thread(tid, account);
  }
}

template <class Visit>
void BpfWaits::for_each_account(const Visit& visit) const {
  for (const std::int32_t pid : processes_.pids()) {
    for (const std::int32_t tid : processes_.threads(pid)) {
      if (const auto account = switches_.account(tid)) visit(pid, tid, *account);
    }
  }
}

void BpfWaits::sum(std::uint64_t now_ns, std::vector<sources::Event>& out) const {
  for_each_account([&](std::int32_t, std::int32_t tid, const thread_account& account) {
    out.emplace_back(sums_of(tid, account, now_ns));
  });
}

// Waits whose stack would have been walked when they are over, or was not walked when they began (older kernels): the long
// ones are walked from outside, the longest first. So each of these is known, and represents no other.
void BpfWaits::walk_open(std::uint64_t end_ns, std::vector<Open>& threads,
                         std::vector<sources::Event>& out) const {
  constexpr std::uint64_t kLongNs = 10'000'000, kBudgetNs = 300'000'000;
  std::vector<Open*> open;
  for (Open& thread : threads) {
    const bool lasts = thread.account.held_out_ns == 0 && thread.account.state != 0 &&
                       thread.account.out_ns != 0 && thread.account.out_ns + kLongNs <= end_ns;
    if (lasts) {
      if (is_walked(thread.account))
        thread.account.weight = 1;
      else
        open.push_back(&thread);
      continue;
    }
    if (!is_open(thread.account)) continue;
    thread.account.stack_id = 0;
    if (thread.account.held_out_ns == 0) continue;
    thread.account.held_out_ns = 0;  // it was over, and its thread not yet resumed
    thread.account.unwalked_waits += 1;
    thread.account.unwalked_ns += thread.account.held_waited_ns + thread.account.held_queued_ns;
  }
  std::sort(open.begin(), open.end(),
            [](const Open* a, const Open* b) { return a->account.out_ns < b->account.out_ns; });
  BlockedWalker walker(processes_);
  const std::uint64_t until = monotonic_ns() + kBudgetNs;
  for (Open* thread : open) {
    thread->account.stack_id = 0;
    if (monotonic_ns() > until) continue;
    auto blocked = walker.walk(thread->pid, thread->tid, thread->account.out_ns);
    if (!blocked) continue;
    // It may have ended this wait during the walk, and begun another one.
    const auto now = switches_.account(thread->tid);
    if (!now || now->out_ns != thread->account.out_ns) continue;
    take_from_outside(blocked->wait, thread->account);
    out.emplace_back(std::move(blocked->stack));
  }
}

void BpfWaits::finish(std::uint64_t end_ns, std::vector<sources::Event>& out) {
  std::vector<Open> threads;
  for_each_account([&](std::int32_t pid, std::int32_t tid, const thread_account& account) {
    threads.push_back({pid, tid, account});
  });
  walk_open(end_ns, threads, out);
  for (const Open& thread : threads) {
    if (auto wait = open_wait(thread.tid, thread.account, end_ns)) out.emplace_back(*wait);
  }
  for (const Open& thread : threads) out.emplace_back(sums_of(thread.tid, thread.account, end_ns));
}

}  // namespace fathom::session
