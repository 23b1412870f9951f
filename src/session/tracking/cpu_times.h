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
  explicit CpuTimes(ProcessTable& processes) : processes_(processes) {}

  // Threads that run already: what they have used so far is not of this recording.
  void begin(std::int32_t pid);
  // Reads the live threads; a thread not seen before counts from 0.
  void refresh();
  void ended(const sources::ThreadCpuTime& event);

  std::uint64_t total_ns() const { return total_ns_; }

 private:
  struct Account {
    std::uint64_t before_ns = 0, now_ns = 0;
    std::uint64_t round = 0;  // in which it was read last
  };
  void note(std::int32_t tid, std::uint64_t cpu_ns);

  ProcessTable& processes_;
  std::unordered_map<std::int32_t, Account> live_;  // by tid
  std::uint64_t total_ns_ = 0, round_ = 0;
};

}  // namespace fathom::session
