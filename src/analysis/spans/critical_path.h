// The critical path of a time on a thread: the chain across threads that determined how long it took. While the thread waits for
// another one, the path follows the thread that woke it, back to the moment at which the wait began; there it returns. So its
// pieces cover the whole time, without gaps and without overlap.
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "analysis/spans/thread_times.h"
#include "analysis/waits/wait_chains.h"

namespace fathom::analysis {

struct PathPiece {
  model::ThreadId thread;
  TimePiece piece;
  std::size_t hops = 0;  // threads between the one whose time it is and this one
};

class CriticalPaths {
 public:
  // All outlive it.
  CriticalPaths(const ThreadTimes& times, const WaitCauses& causes, std::size_t threads)
      : times_(times), causes_(causes), on_path_(threads) {}

  // visit(PathPiece), pieces of one thread in the order of time.
  template <class Visit>
  void visit(model::ThreadId thread, std::uint64_t from_ns, std::uint64_t to_ns, Visit&& take) {
    on_path_[thread.value] = 1;
    times_.visit(thread, from_ns, to_ns, [&](const TimePiece& piece) {
      if (follows(piece)) {
        ++hops_;
        visit(piece.wait->waker, piece.from_ns, piece.to_ns, take);
        --hops_;
      } else {
        take(PathPiece{thread, piece, hops_});
      }
    });
    on_path_[thread.value] = 0;
  }

  // Whether another thread ended this wait, in the time of the piece: a wait that goes on after it has not been ended in it.
  bool is_ended(const TimePiece& piece) const {
    if (piece.doing != Doing::kWaiting) return false;
    const model::Wait& wait = *piece.wait;
    return wait.waker != model::kNoThread && !wait.unfinished &&
           piece.to_ns == wait.start_ns + wait.waited_ns && is_ended_by_a_thread(causes_.of(wait)) &&
           !causes_.is_ended_by_timer(wait);
  }
  // Whether its time is explained by what that thread did.
  bool follows(const TimePiece& piece) const {
    return is_ended(piece) && hops_ != kMostHops && on_path_[piece.wait->waker.value] == 0 &&
           times_.is_recorded(piece.wait->waker);
  }

 private:
  static constexpr std::size_t kMostHops = 16;
  const ThreadTimes& times_;
  const WaitCauses& causes_;
  std::vector<char>
      on_path_;  // by thread: its time is being explained; two threads cannot wait for each other's work
  std::size_t hops_ = 0;
};

}  // namespace fathom::analysis
