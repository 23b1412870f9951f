// The exact CPU time of every thread of the target inside the recording, from the scheduler's own account:
// what sampling estimates, and what the number of samples is held against. Linux:
// /proc/PID/task/TID/schedstat, and for threads that end, what the engine saw at their exit.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>

#include "linux/events.h"
#include "model/profile.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class CpuTimes {
 public:
  explicit CpuTimes(ProcessTable& processes) : processes_(processes) {}

  // Threads that run already: what they have used so far is not of this recording. Once more when the source runs, as its
  // start takes a while.
  void begin(std::int32_t pid);
  // Reads the live threads; a thread not seen before counts from 0. `unsampled`: processes whose CPU time promises no
  // samples.
  void refresh(const std::set<std::int32_t>& unsampled);
  void ended(const sources::ThreadCpuTime& event);

  std::uint64_t total_ns() const { return total_ns_; }
  // Of it, that of processes that could not be sampled.
  std::uint64_t unsampled_ns() const { return unsampled_ns_; }
  // The time of any thread could be read: else total_ns() is unknown, and not 0.
  bool known() const { return known_; }
  // How long threads that could run waited for a CPU, as far as was seen: of one that ended, until it was last read.
  // Nothing: no thread that ran could be read while it lived.
  std::optional<std::uint64_t> waited_ns() const {
    return was_read_ ? std::optional(waited_ns_) : std::nullopt;
  }
  // How often threads were put on a CPU, as far as was seen: at least once each.
  std::uint64_t runs() const { return runs_; }
  // Threads that ended: of each, the kernel had not booked the time since its last tick or switch.
  std::uint64_t ended_threads() const { return ended_threads_; }

 private:
  struct Account {
    std::uint64_t before_ns = 0, now_ns = 0;
    std::uint64_t runs = 0, waited_ns = 0;
    std::uint64_t round = 0;  // in which it was read last
    bool ended = false;
  };
  Account& note(std::int32_t tid, std::uint64_t cpu_ns);

  ProcessTable& processes_;
  std::unordered_map<std::int32_t, Account> live_;  // by tid
  bool known_ = false;
  bool was_read_ = false;  // waited_ns_ counts something
  std::uint64_t total_ns_ = 0, unsampled_ns_ = 0, waited_ns_ = 0, runs_ = 0, ended_threads_ = 0, round_ = 0;
};

}  // namespace fathom::session
