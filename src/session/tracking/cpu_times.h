// The exact CPU time of every thread of the target inside the recording, from the scheduler's own account:
// what sampling estimates, and what the number of samples is held against. Linux:
// /proc/PID/task/TID/schedstat, and for threads that end, what the engine saw at their exit.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "model/profile.h"
#include "session/tracking/process_table.h"
#include "sources/events.h"

namespace fathom::session {

class CpuTimes {
 public:
  CpuTimes(model::Profile& profile, ProcessTable& processes) : profile_(profile), processes_(processes) {}

  // Threads that run already: what they have used so far is not of this recording.
  void begin(std::int32_t pid);
  // Reads the live threads; a thread not seen before counts from 0.
  void refresh();
  void ended(const sources::ThreadCpuTime& event);

  std::uint64_t total_ns() const;

 private:
  struct Account {
    std::uint64_t before_ns = 0, now_ns = 0;
  };
  void note(std::int32_t tid, std::uint64_t cpu_ns);

  model::Profile& profile_;
  ProcessTable& processes_;
  std::unordered_map<std::int32_t, Account> live_;  // by tid
  std::uint64_t ended_ns_ = 0;
};

}  // namespace fathom::session
