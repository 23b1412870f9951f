// One run of a command in a group of its own, from the making of the group to its removal: started, watched, judged. It owns no
// signal and no terminal; the caller waits for poll_fds() and calls step(). Our end, however it comes, ends the group
// (group_guardian.h).
//
//   LimitedRun run(options, place, guardian);
//   if (auto started = run.start(); !started) return started.error();
//   for (; !run.ended(); run.step()) poll(...);
//   Outcome outcome = run.finish();
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "record/session/launch.h"
#include "record/session/session.h"
#include "tools/flight/recording/recorder.h"
#include "tools/limit/group_guardian.h"
#include "tools/limit/outcome.h"
#include "tools/limit/place.h"
#include "tools/limit/wall.h"
#include "tools/oom/kernel_log.h"

namespace fathom::limit {

struct Hold {
  double seconds = 60;                // at most; then it goes on by itself
  std::optional<std::uint64_t> more;  // with so much; without it the kernel kills
  // Called when it stands at the wall.
  std::function<void(const MemoryGroup&)> at_wall;
};

struct RunOptions {
  std::vector<std::string> command;
  Limits limits;
  std::string group_name;          // one part of a path
  std::function<void()> in_child;  // as of session::LaunchedProcess
  bool discard_output = false;     // of the command
  std::optional<Hold> hold;
  std::optional<session::RecordOptions> recording;  // runs along; its command and child are set here
};

class LimitedRun {
 public:
  // `guardian` outlives it, and watches nothing else meanwhile.
  LimitedRun(RunOptions options, Place place, GroupGuardian& guardian);
  ~LimitedRun();  // ends the command, and removes the group
  LimitedRun(const LimitedRun&) = delete;
  LimitedRun& operator=(const LimitedRun&) = delete;

  // An error: the command did not run, and there is no group.
  Result<> start();
  std::vector<pollfd> poll_fds() const;
  int wait_ms() const;
  void step();
  bool ended() const { return ended_; }

  // Of the command, while it may run.
  std::optional<int> command_pid() const;
  void pass_on(int signal);  // to the command
  void interrupt(bool now);  // the user wants an end; `now`: of all that runs in the group
  void leave_wall();         // what is held goes on
  bool at_wall() const { return held_until_ns_ != 0; }

  // After the end: what is left in the group is ended, and the group removed. An error: it could not be removed, or the
  // recording failed.
  Result<Outcome> finish();

 private:
  Result<> make();
  Result<> launch();
  bool is_inside(int pid) const;
  Result<> check_inside(int pid) const;
  void take_log();
  void watch_wall();
  void sample();
  void note_end();

  RunOptions options_;
  Place place_;
  GroupGuardian& guardian_;
  std::optional<MemoryGroup> group_;
  std::optional<Wall> wall_;
  std::optional<oom::KernelLogTail> log_;
  std::string log_text_;
  std::set<int> pids_;  // that were seen in the group
  std::optional<session::LaunchedProcess> launched_;
  flight::Recorder recorder_;  // of session_
  std::optional<session::Session> session_;
  Fd pidfd_;
  Fd in_use_;  // of the place
  Fd procs_;   // of the group, open for the child
  Outcome outcome_;
  std::optional<Pressure> pressure_before_;
  std::uint64_t started_ns_ = 0, held_until_ns_ = 0;
  std::uint64_t next_sample_ns_ = 0;
  bool ended_ = false, was_held_ = false, swaps_ = false;
};

}  // namespace fathom::limit
