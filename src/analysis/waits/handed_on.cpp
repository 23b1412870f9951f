#include "analysis/waits/handed_on.h"

#include <map>
#include <set>

namespace fathom::analysis {

// Names decide about mutexes, conditions, joins and channels. A parker of a thread is woken by whatever has work for it.
static bool may_be_handed_on(const model::Wait& wait, const WaitSites& sites) {
  const FutexKind kind = sites.futex_kind(wait.stack);
  return kind == FutexKind::kSemaphore || (kind == FutexKind::kPark && !sites.is_parker(wait.stack));
}

HandedOnFutexes::HandedOnFutexes(const Waits& waits, const WaitSites& sites)
    : of_object_(waits.profile().objects.size(), 0) {
  struct Futex {
    std::set<std::uint32_t> waiters;
    std::map<std::uint32_t, std::uint64_t> ended_by;  // waits, by thread
  };
  std::map<std::uint32_t, Futex> futexes;  // by object
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    if (row.cause != Cause::kFutex || row.idle || wait.object.value == 0 || !may_be_handed_on(wait, sites))
      continue;
    Futex& futex = futexes[wait.object.value];
    futex.waiters.insert(wait.thread.value);
    if (wait.waker != model::kNoThread) futex.ended_by[wait.waker.value] += row.weight;
  }
  for (const auto& [object, futex] : futexes) {
    std::uint64_t all = 0, by_waiters = 0;
    for (const auto& [thread, waits_ended] : futex.ended_by) {
      all += waits_ended;
      if (futex.waiters.contains(thread)) by_waiters += waits_ended;
    }
    constexpr std::uint64_t kLeastTurns = 3;
    of_object_[object] =
        static_cast<char>(futex.waiters.size() > 1 && by_waiters >= kLeastTurns && by_waiters * 2 > all);
  }
}

}  // namespace fathom::analysis
