#include "analysis/waits/handed_on.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace fathom::analysis {

// Names decide about mutexes, joins and channels. A parker of a thread is woken by whatever has work for it.
static bool may_be_handed_on(FutexKind kind, model::StackId stack, const WaitSites& sites) {
  return kind == FutexKind::kSemaphore || kind == FutexKind::kCondition ||
         (kind == FutexKind::kPark && !sites.is_parker(stack));
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
    // Who arrives last at a barrier wakes all others in the function that they wait in.
    if (taker == giver) return sites_.path(ends, kNear).find("broadcast") == std::string::npos;
    const std::string caller = caller_of(waits, taker);
    return !caller.empty() && caller == caller_of(ends, giver);
  }
  // Empty: of none, or of the function that each thread begins in. A destructor is called by the function whose variable it ends.
  std::string caller_of(model::StackId stack, const std::string& site) const {
    constexpr std::string_view kCalledBy = " < ";
    const std::string path = sites_.path(stack, kNear);
    std::size_t at = path.find(site + std::string(kCalledBy));
    while (at != path.npos) {
      at = path.find(kCalledBy, at);
      if (at == path.npos) break;
      at += kCalledBy.size();
      const std::string caller = path.substr(at, path.find(kCalledBy, at) - at);
      if (is_destructor(caller)) continue;
      return caller == "start_thread" || caller == "..." || caller.starts_with("std::thread::") ? "" : caller;
    }
    return "";
  }
  static bool is_destructor(std::string_view name) {
    return name.find("::~") != name.npos || name.find("drop_in_place") != name.npos ||
           name.find("as core::ops::drop::Drop>::drop") != name.npos;
  }

  static constexpr std::size_t kNear = 20;
  WaitSites sites_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> known_;  // by both stacks
};

}  // namespace

HandedOnFutexes::HandedOnFutexes(const Waits& waits, const WaitSites& sites)
    : of_object_(waits.profile().objects.size(), 0) {
  struct Futex {
    bool is_condition = false;
    std::set<std::uint32_t> objects, waiters;
    std::map<std::uint32_t, std::uint64_t> ended_by;  // waits, by thread
    std::map<std::uint32_t, std::uint64_t> given_by;  // of these, ended by a thread that takes what it gives
  };
  // By process and address. glibc's condition variable has two words to wait at, which take turns, 4 bytes apart.
  std::map<std::pair<std::int32_t, std::uint64_t>, Futex> futexes;
  TakersAndGivers both(waits.profile());
  std::set<std::uint32_t> at_conditions;  // threads that wait at any condition variable
  struct Stack {
    bool may_be_handed_on = false, is_condition = false;
  };
  std::map<std::uint32_t, Stack> stacks;
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    if (row.cause != Cause::kFutex || row.idle || wait.object.value == 0) continue;
    const auto [known, is_new] = stacks.try_emplace(wait.stack.value);
    if (is_new) {
      const FutexKind kind = sites.futex_kind(wait.stack);
      known->second = {may_be_handed_on(kind, wait.stack, sites), kind == FutexKind::kCondition};
    }
    if (!known->second.may_be_handed_on) continue;
    const model::WaitObject& object = waits.profile().objects[wait.object.value];
    Futex& futex = futexes[{object.pid, object.address & ~std::uint64_t{7}}];
    futex.is_condition = known->second.is_condition;
    futex.objects.insert(wait.object.value);
    futex.waiters.insert(wait.thread.value);
    if (futex.is_condition) at_conditions.insert(wait.thread.value);
    if (wait.waker == model::kNoThread) continue;
    // At a condition variable only a stack shows what its waiters do for each other.
    if (futex.is_condition && wait.waker_stack.value == 0) continue;
    futex.ended_by[wait.waker.value] += row.weight;
    if (both.agree(wait)) futex.given_by[wait.waker.value] += row.weight;
  }
  for (const auto& [address, futex] : futexes) {
    std::uint64_t all = 0, by_waiters = 0;
    for (const auto& [thread, waits_ended] : futex.ended_by) {
      all += waits_ended;
      const auto given = futex.given_by.find(thread);
      const std::uint64_t given_back = given == futex.given_by.end() ? 0 : given->second;
      const bool waits_here = futex.waiters.contains(thread);
      if (!futex.is_condition)
        by_waiters += waits_here ? waits_ended : given_back;
      else if (waits_here || !at_conditions.contains(thread))
        by_waiters += given_back;
    }
    constexpr std::uint64_t kLeastTurns = 3;
    if (futex.waiters.size() > 1 && by_waiters >= kLeastTurns && by_waiters * 2 > all)
      for (const std::uint32_t object : futex.objects) of_object_[object] = 1;
  }
}

}  // namespace fathom::analysis
