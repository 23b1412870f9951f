// The life of one recording as a state machine. Pure: it gets the time, the requests and the target's state,
// and returns what to do. It reads no clock, sends no signal and knows no process, so its tests need none of
// them.
//
//   held ─► (delayed) ─► recording ─► finishing ─► done            attached, or the command has ended
//                            │            ▲  └──► waiting ─► done   a limit ended it: the file first, then
//                            the command └► target asked                        the command is recorded until
//                            it ends
#pragma once

#include <cstdint>
#include <optional>

#include "record/session/record_options.h"

namespace fathom::session {

enum class Phase : std::uint8_t {
  kHeld,     // engine, file and target are made ready; a launched command has run nothing
  kDelayed,  // the target runs, and nothing is recorded yet
  kRecording,
  kTargetAsked,  // a launched command was asked to end, and is recorded until it does
  kFinishing,    // what was recorded is being completed; written() ends it
  kWaiting,      // the file is complete; a launched command, asked to end, is waited for
  kDone,
  kFailed,
};

// For a command that was asked to end, once nothing else bounds its time.
constexpr std::uint64_t kPatienceNs = 10'000'000'000;

struct RecordingPlan {
  bool launched = false;
  bool record_shutdown = false;  // a limit asks a launched command to end, and its shutdown is recorded
  std::uint64_t delay_ns = 0;
  std::optional<std::uint64_t> duration_ns = {};  // from the first moment that is recorded
  std::uint64_t patience_ns = kPatienceNs;
};

// What the driver has to do now. Phase::kFinishing is a task by itself: complete the file, then written().
enum class Task : std::uint8_t {
  kNone,
  kLetGo,      // let the target run unrecorded, then let_go()
  kBegin,      // start to record, then begun()
  kAskTarget,  // ask a launched command to end
};

class RecordingState {
 public:
  explicit RecordingState(const RecordingPlan& plan) : plan_(plan) {}

  // Steps of the driver, in this order.
  Task ready(std::uint64_t now_ns);  // all is open, nothing has begun
  void let_go(std::uint64_t now_ns);
  void begun(std::uint64_t now_ns);
  Task written(std::uint64_t now_ns);
  void failed();  // in any phase; what has been recorded is still finished

  // What may come at any time.
  Task tick(std::uint64_t now_ns);
  // The first request asks a launched command to end and goes on recording, unless `at_once`; the caller
  // hands the request itself on to the command. The second ends the recording, and the wait for the command.
  void stop_requested(std::uint64_t now_ns, bool at_once);
  void target_ended();
  // Whether a target that was asked to end is stopped or frozen, so that it cannot.
  void target_stands_still(std::uint64_t now_ns, bool still);
  Task memory_reached(std::uint64_t now_ns);
  // What the recording was made for is known: a limit, as the duration is one.
  Task enough(std::uint64_t now_ns);

  Phase phase() const { return phase_; }
  bool recording() const { return phase_ == Phase::kRecording || phase_ == Phase::kTargetAsked; }
  bool ended() const { return phase_ == Phase::kDone || phase_ == Phase::kFailed; }
  // When tick() has something to do; UINT64_MAX if only others can bring it forward.
  std::uint64_t next_ns() const { return due_ns_; }
  bool ever_recorded() const { return begun_ns_.has_value(); }
  std::uint64_t begun_ns() const { return begun_ns_.value_or(0); }
  std::optional<StopReason> stopped_by() const { return stopped_by_; }
  // A request, and not the patience, was the end of the time that a command had left to end in.
  bool wait_was_ended_by_request() const { return do_not_wait_; }

 private:
  Task limit_reached(std::uint64_t now_ns, StopReason reason);
  void finish() {
    phase_ = Phase::kFinishing;
    due_ns_ = UINT64_MAX;
  }
  void end(Phase phase) {
    phase_ = phase;
    due_ns_ = UINT64_MAX;
  }

  RecordingPlan plan_;
  Phase phase_ = Phase::kHeld;
  std::uint64_t due_ns_ = UINT64_MAX;
  std::optional<std::uint64_t> begun_ns_, still_since_ns_;
  std::optional<StopReason> stopped_by_;
  bool asked_ = false, target_ended_ = false, do_not_wait_ = false, failed_ = false;
};

}  // namespace fathom::session
