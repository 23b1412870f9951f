#include "analysis/waits/handed_on.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace fathom::analysis {

// "acquire_connection", "Pool::checkout", "takePermit": another thread has what is waited for here. Workers that wait for jobs at a condition
// variable may end each other's waits, too, and the name of the place is what distinguishes the two.
static bool takes_something(const model::Wait& wait, const WaitSites& sites) {
  constexpr std::size_t kNear = 10;  // most of them are the C library's and those of the condition variable
  const std::string path = sites.path(wait.stack, kNear);
  for (const std::string_view word : {"acquire", "Acquire", "checkout", "Checkout", "check_out", "borrow",
                                      "Borrow", "onnection", "permit", "Permit", "emaphore"})
    if (path.find(word) != path.npos) return true;
  return false;
}

// Names decide about mutexes, joins and channels. A parker of a thread is woken by whatever has work for it.
static bool may_be_handed_on(const model::Wait& wait, const WaitSites& sites) {
  const FutexKind kind = sites.futex_kind(wait.stack);
  return kind == FutexKind::kSemaphore || (kind == FutexKind::kCondition && takes_something(wait, sites)) ||
         (kind == FutexKind::kPark && !sites.is_parker(wait.stack));
}

namespace {

// Whether one function takes and gives back, by the stacks of a wait and of the thread that ended it: "handle" does both, or calls
// acquire_connection() and release_connection(). Who gives back and takes again at once never waits, and yet is a holder.
class TakersAndGivers {
 public:
  explicit TakersAndGivers(const model::Profile& profile) : sites_(profile) {}
  bool agree(const model::Wait& wait) {
    if (wait.waker_stack.value == 0) return false;
    const auto [known, is_new] = known_.try_emplace({wait.stack.value, wait.waker_stack.value}, false);
    if (is_new) known->second = have_one_caller(wait.stack, wait.waker_stack);
    return known->second;
  }

 private:
  bool have_one_caller(model::StackId waits, model::StackId ends) {
    const std::string taker = sites_.of(waits), giver = sites_.of(ends);
    if (taker == giver) return true;
    const std::string caller = caller_of(waits, taker);
    return !caller.empty() && caller == caller_of(ends, giver);
  }
  // Empty: of none, or of the function that each thread begins in.
  std::string caller_of(model::StackId stack, const std::string& site) const {
    constexpr std::size_t kNear = 20;
    constexpr std::string_view kCalledBy = " < ";
    const std::string path = sites_.path(stack, kNear);
    std::size_t at = path.find(site + std::string(kCalledBy));
    if (at == path.npos) return "";
    at += site.size() + kCalledBy.size();
    const std::string caller = path.substr(at, path.find(kCalledBy, at) - at);
    return caller == "start_thread" || caller == "..." || caller.starts_with("std::thread::") ? "" : caller;
  }

  WaitSites sites_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> known_;  // by both stacks
};

}  // namespace

HandedOnFutexes::HandedOnFutexes(const Waits& waits, const WaitSites& sites)
    : of_object_(waits.profile().objects.size(), 0) {
  struct Futex {
    std::set<std::uint32_t> objects, waiters;
    std::map<std::uint32_t, std::uint64_t> ended_by;  // waits, by thread
    std::uint64_t given = 0;                          // waits that a thread ended which takes what it gives
  };
  // By process and address. glibc's condition variable has two words to wait at, which take turns, 4 bytes apart.
  std::map<std::pair<std::int32_t, std::uint64_t>, Futex> futexes;
  TakersAndGivers both(waits.profile());
  std::map<std::uint32_t, bool> may;  // by stack: a path is made of names
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    if (row.cause != Cause::kFutex || row.idle || wait.object.value == 0) continue;
    const auto [known, is_new] = may.try_emplace(wait.stack.value, false);
    if (is_new) known->second = may_be_handed_on(wait, sites);
    if (!known->second) continue;
    const model::WaitObject& object = waits.profile().objects[wait.object.value];
    Futex& futex = futexes[{object.pid, object.address & ~std::uint64_t{7}}];
    futex.objects.insert(wait.object.value);
    futex.waiters.insert(wait.thread.value);
    if (wait.waker == model::kNoThread) continue;
    if (both.agree(wait))
      futex.given += row.weight;
    else
      futex.ended_by[wait.waker.value] += row.weight;
  }
  for (const auto& [address, futex] : futexes) {
    std::uint64_t all = futex.given, by_waiters = futex.given;
    for (const auto& [thread, waits_ended] : futex.ended_by) {
      all += waits_ended;
      if (futex.waiters.contains(thread)) by_waiters += waits_ended;
    }
    constexpr std::uint64_t kLeastTurns = 3;
    if (futex.waiters.size() > 1 && by_waiters >= kLeastTurns && by_waiters * 2 > all)
      for (const std::uint32_t object : futex.objects) of_object_[object] = 1;
  }
}

}  // namespace fathom::analysis
