// Processes without engine events: starts, ends and loaded code are found by scanning /proc ten times a
// second. With the engine proc that is every process, with the engine perf those that the kernel does not let
// this user sample.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "linux/process/maps.h"
#include "record/session/tracking/source.h"
#include "record/session/waits/proc_waits.h"

namespace fathom::session {

class ProcessLooks {
 public:
  // `waits` learns of what is found, and may be null.
  explicit ProcessLooks(const ProcessTable& processes, ProcWaits* waits)
      : processes_(processes), waits_(waits) {}

  static constexpr std::uint64_t kEveryNs = 100'000'000;
  bool due(std::uint64_t now_ns);

  // What the process table has read by itself.
  void know(std::int32_t pid);
  void forget(std::int32_t pid) {
    known_.erase(pid);
    told_.erase(pid);
  }
  // A child of ours that is not the target before it executes a program.
  void expect_exec(std::int32_t pid) { expected_ = pid; }
  // What has changed since the last look, as events.
  void look(std::int32_t pid, std::uint64_t now_ns, Batch& batch);

 private:
  struct Known {
    std::string program;
    std::set<process::MapEntry> code;
  };
  void look_at_code(std::int32_t pid, std::uint64_t now_ns, Known& known, Batch& batch);
  void look_at_threads(std::int32_t pid, std::uint64_t now_ns, Batch& batch);
  void look_at_children(std::int32_t pid, std::uint64_t now_ns, Batch& batch);
  void tell_child(std::int32_t pid, std::int32_t parent, std::uint64_t now_ns, Batch& batch);

  const ProcessTable& processes_;
  ProcWaits* waits_;
  std::int32_t expected_ = 0;
  std::map<std::int32_t, Known> known_;  // by pid
  std::set<std::int32_t> told_;  // processes that were children before the recording, or that were reported
  std::uint64_t next_ns_ = 0, looks_ = 0;
};

}  // namespace fathom::session
