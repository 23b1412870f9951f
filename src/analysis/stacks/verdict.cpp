#include "analysis/stacks/verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/stacks/holders.h"
#include "analysis/stacks/pools.h"
#include "base/stable_sort.h"

namespace fathom::stacks {
namespace {

using analysis::Cause;
using analysis::FutexKind;

constexpr std::size_t kNone = SIZE_MAX;
// A lock that is taken for a moment is free again by then, also on a busy machine.
constexpr std::uint64_t kLongNs = 500'000'000;

// A lock has a holder, also where it is not known. At the other futexes a thread waits for another one to do something.
bool waits_for_lock(const ThreadLook& thread) {
  const Awaited& awaited = thread.awaited;
  if (thread.state != State::kWaits || !thread.idle.empty()) return false;
  if (awaited.cause == Cause::kFileLock) return true;
  return awaited.cause == Cause::kFutex && awaited.family != LockFamily::kUnknown &&
         (awaited.futex == FutexKind::kLock || awaited.futex == FutexKind::kReaderWriter);
}

// Of locks of this process that never keep who holds them, or not if readers do. Of others the holder was not readable.
bool has_no_holder_field(const ThreadLook& thread) {
  const LockFamily family = thread.awaited.family;
  return thread.awaited.process_private && (family == LockFamily::kPthreadRwlock ||
                                            family == LockFamily::kRust || family == LockFamily::kParkingLot);
}

bool waits_in_kernel(const model::Profile& profile, const ThreadLook& thread) {
  return thread.wait && profile.waits[*thread.wait].state == model::WaitState::kUninterruptible;
}

// It ends with time, input or work.
bool is_at_rest(const ThreadLook& thread) {
  if (!thread.idle.empty()) return true;
  switch (thread.awaited.cause) {
    case Cause::kSleep:
    case Cause::kPoll:
    case Cause::kSignal:
      return true;
    default:
      return false;
  }
}

class Judge {
 public:
  Judge(const model::Profile& profile, const Look& look)
      : profile_(profile),
        look_(look),
        next_(look.threads.size(), kNone),
        covered_(look.threads.size(), false) {
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const ThreadLook& thread = look.threads[i];
      // Also of a process that is stopped: its threads would go on to wait.
      if (thread.holder.kind == Holder::Kind::kThread) next_[i] = thread.holder.thread;
    }
  }

  std::vector<Verdict> judge() {
    find_cycles();
    find_exited();
    find_pools();
    find_likely();
    find_locks();
    find_rest();
    stable_sort_rows(found_, [](const Verdict& a, const Verdict& b) {
      if (a.finding != b.finding) return a.finding < b.finding;
      return a.threads.size() + a.behind > b.threads.size() + b.behind;
    });
    return std::move(found_);
  }

 private:
  Verdict& add(Finding finding) { return found_.emplace_back(Verdict{finding, {}, {}, 0, false}); }

  void find_cycles() {
    enum class Mark : std::uint8_t { kNew, kOnPath, kDone };
    std::vector<Mark> marks(next_.size(), Mark::kNew);
    for (std::size_t start = 0; start < next_.size(); ++start) {
      std::size_t at = start;
      std::vector<std::size_t> path;
      for (; at != kNone && marks[at] == Mark::kNew; at = next_[at]) {
        marks[at] = Mark::kOnPath;
        path.push_back(at);
      }
      if (at != kNone && marks[at] == Mark::kOnPath) {
        Verdict& verdict = add(Finding::kDeadlock);
        verdict.threads.assign(std::ranges::find(path, at), path.end());
        for (const std::size_t row : verdict.threads) {
          verdict.may_end |= look_.threads[row].awaited.has_timeout;
          covered_[row] = true;
        }
      }
      for (const std::size_t row : path) marks[row] = Mark::kDone;
    }
    for (Verdict& verdict : found_) count_behind(verdict, verdict.threads);
  }

  // It waits for one of these, through whatever chain.
  bool reaches(std::size_t row, const std::set<std::size_t>& members) const {
    std::size_t at = next_[row];
    for (std::size_t steps = 0; at != kNone && !members.contains(at) && steps < next_.size(); ++steps)
      at = next_[at];
    return at != kNone && members.contains(at);
  }

  // Those that wait for one of `rows` through whatever chain.
  void count_behind(Verdict& verdict, const std::vector<std::size_t>& rows) {
    const std::set<std::size_t> members(rows.begin(), rows.end());
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (covered_[i] || members.contains(i) || !reaches(i, members)) continue;
      covered_[i] = true;
      ++verdict.behind;
    }
  }

  // Waiters of one lock, by the lock.
  using Locks = std::map<std::tuple<std::int32_t, std::uint64_t, std::size_t>, std::vector<std::size_t>>;
  // A wait without an address, as for a file's lock, has the place that waits.
  static Locks::key_type lock_of(const ThreadLook& thread) {
    const std::uint64_t address = thread.awaited.address;
    return {thread.pid, address, address != 0 ? 0 : thread.stack.value + std::size_t{1}};
  }
  template <class Takes>
  Locks locks(Takes takes) const {
    Locks locks;
    for (std::size_t i = 0; i < look_.threads.size(); ++i) {
      const ThreadLook& thread = look_.threads[i];
      if (covered_[i] || !takes(thread)) continue;
      locks[lock_of(thread)].push_back(i);
    }
    return locks;
  }

  void find_exited() {
    for (auto& [lock, threads] :
         locks([](const ThreadLook& thread) { return thread.holder.kind == Holder::Kind::kExited; })) {
      Verdict& verdict = add(Finding::kHolderExited);
      verdict.threads = threads;
      for (const std::size_t row : threads) {
        verdict.may_end |= look_.threads[row].awaited.has_timeout;
        covered_[row] = true;
      }
      const std::vector<std::size_t> waiters = threads;
      count_behind(verdict, waiters);
    }
  }

  void find_pools() {
    // A thread that runs may be about to deliver the results.
    if (std::ranges::any_of(look_.threads, [](const ThreadLook& t) { return t.state == State::kRuns; }))
      return;
    for (std::vector<std::size_t>& pool : exhausted_pools(profile_, look_)) {
      if (std::ranges::any_of(pool, [this](std::size_t row) { return covered_[row]; })) continue;
      Verdict& verdict = add(Finding::kPoolExhausted);
      verdict.threads = std::move(pool);
      for (const std::size_t row : verdict.threads) covered_[row] = true;
      count_behind(verdict, verdict.threads);
    }
  }

  // Locks that keep no holder have one all the same. If no thread runs, and every thread that does not wait for such a lock is at rest,
  // the holders are among the waiters: a circle, unless one that rests took a lock along. One lock alone proves something only if no
  // thread rests: then one that waits for it holds it, or its holder has exited.
  void find_likely() {
    Locks waiters;
    std::vector<std::size_t> others;
    std::set<std::size_t> waiting;
    for (std::size_t i = 0; i < look_.threads.size(); ++i) {
      const ThreadLook& thread = look_.threads[i];
      const bool waits = waits_for_lock(thread) && thread.awaited.cause == Cause::kFutex &&
                         thread.holder.kind == Holder::Kind::kUnknown && !thread.awaited.has_timeout;
      if (waits && thread.waited_ns.value_or(0) >= kLongNs) {
        waiters[lock_of(thread)].push_back(i);
        waiting.insert(i);
      } else if (!covered_[i]) {
        others.push_back(i);
      }
    }
    // Also at rest is who waits for one of them, as main joins its workers.
    const bool all_rest = std::ranges::all_of(others, [&](std::size_t row) {
      const ThreadLook& thread = look_.threads[row];
      return thread.state == State::kWaits && (is_at_rest(thread) || reaches(row, waiting));
    });
    if (!all_rest || waiters.empty()) return;
    const bool none_can_release =
        std::ranges::all_of(waiting,
                            [this](std::size_t row) { return has_no_holder_field(look_.threads[row]); }) &&
        others.size() + waiting.size() == look_.threads.size() &&
        std::ranges::all_of(others, [&](std::size_t row) { return reaches(row, waiting); });
    if (waiters.size() < 2 && !none_can_release) return;
    Verdict& verdict = add(Finding::kLikelyDeadlock);
    for (const auto& [lock, threads] : waiters)
      for (const std::size_t row : threads) {
        verdict.threads.push_back(row);
        covered_[row] = true;
      }
    std::ranges::sort(verdict.threads);
    const std::vector<std::size_t> rows = verdict.threads;
    count_behind(verdict, rows);
  }

  void find_locks() {
    for (auto& [lock, threads] : locks([](const ThreadLook& thread) {
           return waits_for_lock(thread) ||
                  (thread.state == State::kWaits && (thread.holder.kind == Holder::Kind::kThread ||
                                                     thread.holder.kind == Holder::Kind::kProcess));
         })) {
      Verdict verdict{Finding::kHolderUnknown, threads, {}, 0, false};
      const ThreadLook* last = &look_.threads[threads.front()];
      for (std::size_t at = next_[threads.front()]; at != kNone && verdict.chain.size() < next_.size();
           at = next_[at]) {
        verdict.chain.push_back(at);
        last = &look_.threads[at];
      }
      if (last->holder.kind == Holder::Kind::kProcess)
        verdict.finding = Finding::kHolderElsewhere;
      else if (!verdict.chain.empty())
        verdict.finding = last->state == State::kRuns ? Finding::kHolderRuns : Finding::kHolderWaits;
      // A join of a thread that waits for work, or of one that works, is how programs wait for their own end; a shell waits for its
      // commands likewise.
      if (verdict.finding != Finding::kHolderUnknown && is_join(verdict)) {
        verdict.finding = Finding::kWaits;
        verdict.chain.clear();
      }
      for (const std::size_t row : threads) covered_[row] = true;
      found_.push_back(std::move(verdict));
    }
    // A holder that sleeps is not idle.
    for (const Verdict& verdict : found_)
      for (const std::size_t row : verdict.chain) covered_[row] = true;
  }

  bool is_join(const Verdict& verdict) const {
    return std::ranges::all_of(verdict.threads, [this](std::size_t row) {
      return is_of_an_end(look_.threads[row].holder.evidence);
    });
  }

  void find_rest() {
    std::map<Finding, std::vector<std::size_t>> rest;
    for (std::size_t i = 0; i < look_.threads.size(); ++i) {
      const ThreadLook& thread = look_.threads[i];
      if (thread.state == State::kRuns)
        rest[Finding::kRuns].push_back(i);
      else if (thread.state == State::kStopped)
        rest[Finding::kStopped].push_back(i);
      else if (covered_[i])
        continue;
      else if (thread.state == State::kWaits && waits_in_kernel(profile_, thread))
        rest[Finding::kKernel].push_back(i);
      else if (thread.state == State::kWaits && is_at_rest(thread))
        rest[Finding::kIdle].push_back(i);
      else
        rest[Finding::kWaits].push_back(i);
    }
    for (auto& [finding, threads] : rest) {
      const auto known = std::ranges::find(found_, finding, &Verdict::finding);
      Verdict& verdict = known == found_.end() ? add(finding) : *known;
      verdict.threads.insert(verdict.threads.end(), threads.begin(), threads.end());
      std::ranges::sort(verdict.threads);
    }
  }

  const model::Profile& profile_;
  const Look& look_;
  std::vector<std::size_t> next_;  // row of the thread that holds what this one waits for
  std::vector<bool> covered_;
  std::vector<Verdict> found_;
};

}  // namespace

std::vector<Verdict> find_verdicts(const model::Profile& profile, const Look& look) {
  return Judge(profile, look).judge();
}

}  // namespace fathom::stacks
