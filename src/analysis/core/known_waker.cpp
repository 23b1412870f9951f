#include "analysis/core/known_waker.h"

namespace fathom::analysis {

KnownWakers::KnownWakers(const model::Profile& profile, const WaitCauses& causes)
    : profile_(profile), causes_(causes) {
  for (std::uint32_t i = 0; i < profile.objects.size(); ++i) {
    const model::WaitObject& object = profile.objects[i];
    if (object.kind != model::ObjectKind::kPoll || object.pid == 0) continue;
    const auto fact = profile.meta.facts.find(model::epoll_set_fact(object.pid, object.address));
    if (fact != profile.meta.facts.end()) epoll_sets_[i] = model::epoll_set_of(fact->second);
  }
}

const model::EpollSet* KnownWakers::epoll_set(const model::Wait& wait) const {
  const auto known = epoll_sets_.find(wait.object.value);
  return known == epoll_sets_.end() ? nullptr : &known->second;
}

bool KnownWakers::is_ended_by_timer(const model::Wait& wait) const {
  if (causes_.is_ended_by_timer(wait)) return true;
  const model::EpollSet* set = epoll_set(wait);
  if (set == nullptr || !set->has_timers_only() || wait.unfinished) return false;
  // An eventfd is private to its process in practice: a thread of another one was interrupted by the timer. On a busy machine most
  // timers interrupt such a thread.
  if (set->wakers == 0 || wait.waker == model::kNoThread) return true;
  return wait.waker_stack.value == 0 &&
         profile_.threads[wait.waker.value].process != profile_.threads[wait.thread.value].process;
}

bool KnownWakers::is_for_an_answer(const model::Wait& wait) const {
  const model::EpollSet* set = epoll_set(wait);
  return set != nullptr && set->asks() && !causes_.is_ended_by_timer(wait);
}

bool KnownWakers::is_work(const model::Wait& wait, Cause cause) const {
  if (wait.state == model::WaitState::kPreempted || (cause != Cause::kPoll && cause != Cause::kSignal))
    return false;
  if (is_for_an_answer(wait)) return true;
  const bool ran_into_timeout = cause_of_call(wait.system_call) == Cause::kPoll && wait.result == 0;
  return !ran_into_timeout && is_ended_by_timer(wait);
}

}  // namespace fathom::analysis
