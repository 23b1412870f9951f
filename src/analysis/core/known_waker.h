// Waits of a loop for many things, of which it is known what they are for: a timer, or an answer that the program asked for. Without
// that knowledge a wait in an event loop is that of a thread without work.
#pragma once

#include <map>

#include "analysis/core/wait_cause.h"
#include "model/epoll_set.h"
#include "model/profile.h"

namespace fathom::analysis {

class KnownWakers {
 public:
  // Both outlive it and do not change.
  KnownWakers(const model::Profile& profile, const WaitCauses& causes);
  // A point in time ended it and nothing else: also where there are only timers in the set of an epoll.
  bool is_ended_by_timer(const model::Wait& wait) const;
  // A poll of nothing but connections that the process opened itself: what ends it is an answer, and not new work.
  bool is_for_an_answer(const model::Wait& wait) const;
  // No rule about idle threads holds for it: it asked for an answer, or set an alarm. `cause` is that of the wait. A loop whose
  // poll runs into its timeout is left to the rules.
  bool is_work(const model::Wait& wait, Cause cause) const;

 private:
  const model::EpollSet* epoll_set(const model::Wait& wait) const;

  const model::Profile& profile_;
  const WaitCauses& causes_;
  std::map<std::uint32_t, model::EpollSet> epoll_sets_;  // by row of the objects
};

}  // namespace fathom::analysis
