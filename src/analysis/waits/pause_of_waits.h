// What each wait says about the program: a thread that does not run stands in the run queue, waits for a file, a lock or a peer,
// sleeps, or has no work. wall_time.h adds them up.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/idle.h"
#include "analysis/core/known_waker.h"
#include "analysis/core/waits.h"
#include "analysis/waits/async_tasks.h"
#include "analysis/waits/handed_on.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// What a thread is doing that does not run.
enum class Pause : std::uint8_t {
  kQueue,
  kDisk,
  kMemory,
  kLock,
  kPeer,
  kTimer,
  kTaskSleep,  // a task sleeps, and keeps a thread of its executor from the others
  kIdle,
  kStuck,     // for another thread, which never came
  kByFathom,  // no time of the program
  kOther,
};
constexpr std::size_t kPauses = static_cast<std::size_t>(Pause::kOther) + 1;
// All arguments outlive it.
class PauseOfWaits {
 public:
  // `reasons` are those of wait_reasons.txt.
  PauseOfWaits(const Waits& waits, const RuledWaits& reasons, const WaitSites& sites,
               const HandedOnFutexes& handed_on);

  // Of the time that `row` waited; the time in the run queue after it is kQueue.
  Pause of(const SelectedWait& row, const model::Wait& wait) const;

 private:
  Pause of_cause(const SelectedWait& row, const model::Wait& wait) const;
  Pause of_futex(const model::Wait& wait) const;
  bool is_for_a_child(const SelectedWait& row, const model::Wait& wait) const;
  bool is_cut_off(const model::Wait& wait) const;
  std::uint32_t process_of(const model::Wait& wait) const;

  const Waits& waits_;
  const RuledWaits& reasons_;
  const WaitSites& sites_;
  const HandedOnFutexes& handed_on_;
  KnownWakers wakers_;
  PolledTasks tasks_;
  std::vector<char> reads_blocks_, killed_, has_child_;  // by process
  bool knows_wakers_;
};

}  // namespace fathom::analysis
