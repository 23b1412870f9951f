#include "record/proc/wait_book.h"

#include <algorithm>
#include <cmath>

namespace fathom::sources {
namespace {

constexpr std::size_t kMostLeftOvers = 100'000;
// A wait without an end record after so many rounds is returned with its estimate: the record was lost.
constexpr int kMostTakes = 3;
// The correction of shares is spread over so much time: were it made at once, a long wait would count for
// more than it took, as it is itself a part of what is corrected to.
constexpr double kCorrectionNs = 0.5e9;
// No wait is shorter than the two switches that make it; an estimate may be.
constexpr double kShortestNs = 2'000;

double span(std::uint64_t from, std::uint64_t to) {
  return to > from ? static_cast<double>(to - from) : 0;
}

// What the thread waited between two moments. The account of a thread that runs lags behind by up to one
// tick.
double waited_between(std::uint64_t from_ns, const process::SchedulerTimes& from, std::uint64_t to_ns,
                      const process::SchedulerTimes& to) {
  return std::max(0.0,
                  span(from_ns, to_ns) - span(from.ran_ns, to.ran_ns) - span(from.waited_ns, to.waited_ns));
}

}  // namespace

void WaitBook::add(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns,
                   const process::SchedulerTimes& times, bool before) {
  const auto [known, is_new] = accounts_.try_emplace(tid);
  if (!is_new) return;
  Account& account = known->second;
  account.pid = pid;
  account.before = before;
  account.begin_ns = account.look_ns = account.pool_ns = time_ns;
  account.base = account.last = account.pool = times;
}

bool WaitBook::is_same_wait(std::int32_t tid, const process::SchedulerTimes& times) const {
  const auto known = accounts_.find(tid);
  // 0: this kernel does not count them.
  return known != accounts_.end() && known->second.open && times.slices != 0 &&
         times.slices == known->second.pool.slices;
}

void WaitBook::look_same(std::int32_t tid, std::uint64_t time_ns, const process::SchedulerTimes& times) {
  Account& account = accounts_[tid];
  if (!account.open) return;
  account.waited_ns += waited_between(account.pool_ns, account.pool, time_ns, times);
  account.open->last_look_ns = time_ns;
  account.look_ns = account.pool_ns = time_ns;
  account.last = account.pool = times;
}

void WaitBook::look_running(std::int32_t tid, std::uint64_t time_ns, const process::SchedulerTimes& times) {
  Account& account = accounts_[tid];
  if (account.open && account.open->after_ns == 0)
    account.open->after_ns = span(account.look_ns, time_ns) / 2;
  account.look_ns = time_ns;
  account.last = times;
}

// Ends the wait that is open. `waited`: from the last look that found it to the last look.
void WaitBook::close(Account& account, double waited, bool at_blocked_look) {
  if (!account.open) return;
  Open& open = *account.open;
  const double slices = std::max(1.0, span(account.pool.slices, account.last.slices));
  // A wait between each two slices; the last one is the next wait to be booked, if there is one.
  open.tail_ns = waited / (at_blocked_look ? slices + 1 : slices);
  open.queued_ns = span(account.pool.waited_ns, account.last.waited_ns) / slices;
  account.closed.push_back(std::move(open));
  account.open.reset();
}

void WaitBook::look_blocked(std::uint64_t time_ns, const process::SchedulerTimes& times, const Waited& wait) {
  Account& account = accounts_[wait.tid];
  if (account.open && times.slices == 0 && account.open->wait.stack_id == wait.stack_id &&
      account.open->wait.arguments[0] == wait.arguments[0])
    return look_same(wait.tid, time_ns, times);
  const double gap = span(account.look_ns, time_ns);
  const bool first = account.look_ns == account.begin_ns;
  const double waited = waited_between(account.pool_ns, account.pool, time_ns, times);
  const double slices = span(account.pool.slices, times.slices);
  account.look_ns = time_ns;
  account.last = times;
  account.waited_ns += waited;
  if (account.open && account.open->after_ns == 0) account.open->after_ns = gap / 2;
  close(account, waited, true);
  Open open;
  open.wait = wait;
  open.wait.pid = account.pid;
  open.wait.weight = 1;
  // Not run since the beginning: it was blocked before.
  open.wait.began_before = account.before && slices == 0 && account.base == times;
  open.wait.unfinished = false;
  open.first_look_ns = open.last_look_ns = time_ns;
  open.head_ns = waited / (slices + 1);
  open.before_ns = first ? gap : gap / 2;
  account.open = std::move(open);
  account.pool_ns = time_ns;
  account.pool = times;
}

void WaitBook::set_stack(std::int32_t tid, std::uint64_t stack_id) {
  Account& account = accounts_[tid];
  if (account.open) account.open->wait.stack_id = stack_id;
}

void WaitBook::switched(const ThreadSwitched& event) {
  const auto known = accounts_.find(event.tid);
  if (known == accounts_.end()) return;
  Account& account = known->second;
  if (event.out) {
    // It ran from its start, like a thread that executed a program: its start was not seen.
    if (account.first_in_ns == 0 && !account.before)
      account.first_in_ns = account.in_ns = std::max<std::uint64_t>(account.begin_ns, 1);
    account.ran_ns += static_cast<std::uint64_t>(account.in_ns != 0 ? span(account.in_ns, event.time_ns) : 0);
    account.in_ns = 0;
    account.out_ns = event.time_ns;
    account.preempted = event.preempted;
    ++(event.preempted ? account.preemptions : account.waits);
    return;
  }
  const std::uint64_t out_ns = account.out_ns != 0 ? account.out_ns : account.begin_ns;
  const auto resolve = [&](Open& open) {
    if (open.in_ns != 0 || open.first_look_ns < out_ns || open.last_look_ns > event.time_ns) return;
    open.out_ns = out_ns;
    open.in_ns = event.time_ns;
  };
  if (!account.preempted) {
    for (Open& open : account.closed) resolve(open);
    if (account.open) resolve(*account.open);
  }
  account.out_ns = 0;
  account.preempted = false;
  account.in_ns = event.time_ns;
  if (account.first_in_ns == 0) account.first_in_ns = event.time_ns;
}

void WaitBook::give_out(Account& account, std::int32_t tid, Open& open, std::vector<Event>& out) {
  Waited wait = open.wait;
  wait.tid = tid;
  double waited = open.head_ns + span(open.first_look_ns, open.last_look_ns) + open.tail_ns;
  double queued = open.queued_ns;
  double begin = static_cast<double>(open.first_look_ns) - open.head_ns;
  if (open.in_ns != 0) {
    begin = static_cast<double>(std::max(open.out_ns, account.begin_ns));
    const double length = static_cast<double>(open.in_ns) - begin;
    // It was not woken yet when it was looked at.
    queued = std::min(queued, span(open.last_look_ns, open.in_ns));
    waited = length - queued;
  }
  wait.out_ns = std::max(account.begin_ns, static_cast<std::uint64_t>(std::max(0.0, begin)));
  wait.waited_ns = static_cast<std::uint64_t>(std::max(kShortestNs, waited));
  wait.queued_ns = static_cast<std::uint64_t>(queued);

  // Its share: a wait that was looked at twice, or longer than what a look stands for, is always seen and
  // counts for itself where its length is known.
  const auto one = static_cast<double>(wait.waited_ns);
  const double seen = span(open.first_look_ns, open.last_look_ns);
  const double around = open.before_ns + open.after_ns;
  double booked = one;
  if (!(open.in_ns != 0 && (seen > 0 || one >= around))) {
    const double missing = account.waited_ns - account.booked_ns;
    booked = seen + around * std::clamp(1 + missing / kCorrectionNs, 0.25, 4.0);
  }
  account.booked_ns += booked;
  if (left_over_ns_.size() > kMostLeftOvers) left_over_ns_.clear();
  double& left_over = left_over_ns_[wait.stack_id];
  booked += left_over;
  wait.weight = static_cast<std::uint32_t>(std::clamp(std::round(booked / one), 1.0, 1e6));
  left_over = booked - one * wait.weight;
  out.emplace_back(wait);
}

void WaitBook::take(std::vector<Event>& out) {
  for (auto& [tid, account] : accounts_) {
    std::erase_if(account.closed, [&, id = tid, &from = account](Open& open) {
      if (switches_ && open.in_ns == 0 && ++open.takes < kMostTakes) return false;
      give_out(from, id, open, out);
      return true;
    });
  }
}

ThreadWaitTime WaitBook::sums_of(const Account& account, std::int32_t tid) const {
  ThreadWaitTime times;
  times.time_ns = account.look_ns;
  times.pid = account.pid;
  times.tid = tid;
  times.ran_ns = account.last.ran_ns - account.base.ran_ns;
  times.queued_ns = account.last.waited_ns - account.base.waited_ns;
  const std::uint64_t busy = times.ran_ns + times.queued_ns;
  const std::uint64_t life = account.look_ns - account.begin_ns;
  times.waited_ns = life > busy ? life - busy : 0;
  times.waits = switches_ ? account.waits : account.last.slices - account.base.slices;
  times.preemptions = account.preemptions;
  times.unwalked_ns = static_cast<std::uint64_t>(account.unwalked_ns);
  times.unwalked_waits = account.unwalked_waits;
  return times;
}

void WaitBook::sum(std::vector<Event>& out) const {
  for (const auto& [tid, account] : accounts_) out.emplace_back(sums_of(account, tid));
}

void WaitBook::give_out_all(Account& account, std::int32_t tid, std::vector<Event>& out) {
  for (Open& open : account.closed) give_out(account, tid, open, out);
  account.closed.clear();
  if (account.open) {
    Open& open = *account.open;
    // Not run since the last look at it.
    const bool unfinished = account.last.slices == account.pool.slices && account.look_ns == account.pool_ns;
    if (unfinished && open.in_ns == 0) {
      open.wait.unfinished = true;
      if (account.out_ns != 0 && account.out_ns <= open.first_look_ns) {
        open.out_ns = account.out_ns;
        open.in_ns = account.look_ns;
      }
    } else {
      const double waited = waited_between(account.pool_ns, account.pool, account.look_ns, account.last);
      account.waited_ns += waited;
      close(account, waited, false);
      give_out_all(account, tid, out);
      return;
    }
    give_out(account, tid, open, out);
    account.open.reset();
    return;
  }
  // Never seen blocked.
  if (account.pool_ns == account.begin_ns) {
    account.unwalked_ns = waited_between(account.begin_ns, account.base, account.look_ns, account.last);
    account.unwalked_waits = switches_ ? account.waits : account.last.slices - account.base.slices;
  }
}

void WaitBook::ended(std::int32_t tid, std::uint64_t time_ns, std::vector<Event>& out) {
  const auto known = accounts_.find(tid);
  if (known == accounts_.end()) return;
  Account& account = known->second;
  if (switches_ && !account.before && account.first_in_ns != 0) {
    // Its switches cover all of its life. Of its queueing, at least the time before it first ran is known.
    if (account.in_ns != 0) account.ran_ns += static_cast<std::uint64_t>(span(account.in_ns, time_ns));
    const auto first_queue = static_cast<std::uint64_t>(span(account.begin_ns, account.first_in_ns));
    account.last.ran_ns = std::max(account.last.ran_ns, account.base.ran_ns + account.ran_ns);
    account.last.waited_ns = std::max(account.last.waited_ns, account.base.waited_ns + first_queue);
    account.last.slices += 1;
    account.look_ns = std::max(account.look_ns, time_ns);
    give_out_all(account, tid, out);
    out.emplace_back(sums_of(account, tid));
    accounts_.erase(known);
    return;
  }
  // What it did since the last look was not seen, but that it ran at the end: half of it waiting, if it was
  // blocked.
  const std::uint64_t rest = static_cast<std::uint64_t>(span(account.look_ns, time_ns));
  const bool blocked = account.open && account.look_ns == account.pool_ns;
  const bool told = blocked && account.open->in_ns > account.look_ns;
  const std::uint64_t waited =
      told ? std::min(account.open->in_ns - account.look_ns, rest) : (blocked ? rest / 2 : 0);
  account.last.ran_ns += rest - waited;
  account.last.slices += 1;
  account.look_ns += rest;
  give_out_all(account, tid, out);
  out.emplace_back(sums_of(account, tid));
  accounts_.erase(known);
}

void WaitBook::finish(std::vector<Event>& out) {
  for (auto& [tid, account] : accounts_) {
    give_out_all(account, tid, out);
    out.emplace_back(sums_of(account, tid));
  }
  accounts_.clear();
}

}  // namespace fathom::sources
