// One recording from start to end, as something to embed: a command line, a server and a daemon can each run
// it, one after the other or several at a time. It owns no signal handler, no terminal, no sleep and no
// global; the caller waits for poll_fd() and calls step(). Which step follows which is recording_state.h,
// what is recorded recording.h.
//
//   Session session(options);
//   if (auto started = session.start(); !started) return started.error();
//   for (session.step(); !session.ended(); session.step()) {
//     poll(session.poll_fd() and your own, session.wait_ms());
//     if (/* the user wants to stop */) session.request_stop({});
//   }
//   return session.outcome();
//
// One thread, with real-time priority while it records. The caller ensures that SIGPIPE and SIGXFSZ do not
// end the process.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "record/session/engine_ladder.h"
#include "record/session/launch.h"
#include "record/session/record_options.h"
#include "record/session/recording_state.h"

namespace fathom::session {

class Recording;
struct TargetEnds;

struct StopRequest {
  int pass_on = SIGTERM;  // to a launched command; 0: it has got the request already
  bool at_once = false;   // do not record the command until it ends
};

class Session {
 public:
  explicit Session(RecordOptions options);
  ~Session();  // detaches; a command that runs is left, one that has run nothing is killed
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Targets that come later: asked about once a second from the start on, in the thread that calls step(). The recording
  // ends when all targets have ended, also if more might come. Before start().
  void follow(std::function<std::vector<std::int32_t>()> members) { members_ = std::move(members); }

  // Opens the engine and the file, and begins, or lets the delay begin. An error: nothing was recorded, there
  // is no file, and a command that was to be launched does not run.
  Result<> start();

  // Readable when step() has something to do before wait_ms() are over.
  int poll_fd() const { return epoll_.get(); }
  int wait_ms() const;
  // One round. The one that ends the recording takes as long as that takes: a second, as a rule.
  void step();
  // May be called from the start on, and several times; what each does is in recording_state.h.
  void request_stop(const StopRequest& request);

  bool ended() const { return state_.ended(); }
  Phase phase() const { return state_.phase(); }
  // Once it has ended. An error in the middle of a recording: the file has everything recorded before it.
  Result<RecordOutcome> outcome() const;

  // Of a launched command, while it may run.
  std::optional<std::int32_t> command_pid() const;
  double seconds() const;  // since it began to record
  std::optional<double> cpu_seconds()
      const;  // of the targets meanwhile, by the scheduler's clock; nullopt: unknown
  const model::Quality& quality() const;
  std::uint64_t bytes_written() const;
  // Which allocators are traced, while the heap is recorded: "9 functions of glibc (libc.so.6)"; else "".
  std::string traced_allocators() const;
  // Allocators that could not be traced: one line each, with the reason and the remedy. Also when the
  // recording has ended.
  std::vector<std::string> unseen_allocators() const;
  // Which have no names and are traced all the same, and by what evidence; a line each.
  std::vector<std::string> allocators_found_by_code() const;

 private:
  Result<> prepare();
  Result<> find_targets();
  Result<> open_recording();
  Result<> watch(int fd);
  Result<> act(Task task);
  Result<> let_go();
  Result<> begin();
  Result<> begin_recording();
  Result<> watch_recording();
  void act_or_fail(Task task);
  void fail_with(Error error);
  void look_at_targets();
  void look_for_more(std::uint64_t now_ns);
  TargetEnds ends_of_targets();
  void finish();
  void note_standstill();
  void conclude();

  RecordOptions options_;
  RecordingState state_;
  EngineLadder engines_;
  std::unique_ptr<Recording> recording_;
  std::optional<LaunchedProcess> launched_;
  std::vector<std::int32_t> targets_;
  std::function<std::vector<std::int32_t>()> members_;
  std::uint64_t next_members_ns_ = 0;
  struct Target {
    std::int32_t pid;
    Fd fd;                           // pidfd
    std::optional<int> status = {};  // of wait(2), once it has ended and where that can be known
  };
  std::vector<Target> running_, gone_;
  Fd epoll_;
  std::vector<int> recording_fds_;  // in epoll_, while it records
  std::uint64_t next_look_ns_ = 0;  // whether the target stands still
  RecordOutcome outcome_;
  std::optional<Error> error_;
};

}  // namespace fathom::session
