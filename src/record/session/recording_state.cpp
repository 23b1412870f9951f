#include "record/session/recording_state.h"

#include <algorithm>

namespace fathom::session {

Task RecordingState::ready(std::uint64_t /*now_ns*/) {
  if (phase_ != Phase::kHeld) return Task::kNone;
  return plan_.delay_ns != 0 ? Task::kLetGo : Task::kBegin;
}

void RecordingState::let_go(std::uint64_t now_ns) {
  if (phase_ != Phase::kHeld) return;
  phase_ = Phase::kDelayed;
  due_ns_ = now_ns + plan_.delay_ns;
}

void RecordingState::begun(std::uint64_t now_ns) {
  if (phase_ != Phase::kHeld && phase_ != Phase::kDelayed) return;
  phase_ = Phase::kRecording;
  begun_ns_ = now_ns;
  due_ns_ = plan_.duration_ns ? now_ns + *plan_.duration_ns : UINT64_MAX;
}

Task RecordingState::tick(std::uint64_t now_ns) {
  if (now_ns < due_ns_) return Task::kNone;
  switch (phase_) {
    case Phase::kDelayed:
      return Task::kBegin;
    case Phase::kRecording:
      return limit_reached(now_ns, StopReason::kDuration);
    case Phase::kTargetAsked:
      finish();
      break;
    case Phase::kWaiting:
      end(Phase::kDone);
      break;
    default:
      break;
  }
  return Task::kNone;
}

Task RecordingState::memory_reached(std::uint64_t now_ns) {
  return phase_ == Phase::kRecording ? limit_reached(now_ns, StopReason::kMemory) : Task::kNone;
}

Task RecordingState::enough(std::uint64_t now_ns) {
  return phase_ == Phase::kRecording ? limit_reached(now_ns, StopReason::kEnough) : Task::kNone;
}

Task RecordingState::limit_reached(std::uint64_t now_ns, StopReason reason) {
  stopped_by_ = reason;
  if (!plan_.launched || !plan_.record_shutdown) {
    finish();
    return Task::kNone;
  }
  phase_ = Phase::kTargetAsked;
  due_ns_ = now_ns + plan_.patience_ns;
  asked_ = true;
  return Task::kAskTarget;
}

void RecordingState::stop_requested(std::uint64_t now_ns, bool at_once) {
  if (!ended()) stopped_by_ = stopped_by_.value_or(StopReason::kInterrupted);
  switch (phase_) {
    case Phase::kHeld:
      end(Phase::kDone);
      break;
    case Phase::kDelayed:
      // There is nothing to record a shutdown into: the command, which got the request, is only waited for.
      if (!plan_.launched || at_once) return end(Phase::kDone);
      phase_ = Phase::kWaiting;
      due_ns_ = now_ns + plan_.patience_ns;
      asked_ = true;
      break;
    case Phase::kRecording:
      if (!plan_.launched || at_once) return finish();
      phase_ = Phase::kTargetAsked;  // until the duration is over, if there is one
      if (plan_.record_shutdown && due_ns_ != UINT64_MAX)
        due_ns_ = std::max(due_ns_, now_ns + plan_.patience_ns);
      asked_ = true;
      break;
    case Phase::kTargetAsked:
      do_not_wait_ = true;
      finish();
      break;
    case Phase::kFinishing:
      do_not_wait_ = true;
      break;
    case Phase::kWaiting:
      do_not_wait_ = true;
      end(Phase::kDone);
      break;
    case Phase::kDone:
    case Phase::kFailed:
      break;
  }
}

void RecordingState::target_ended() {
  if (target_ended_ || ended()) return;
  target_ended_ = true;
  stopped_by_ = stopped_by_.value_or(StopReason::kTargetEnded);
  if (recording())
    finish();
  else if (phase_ == Phase::kDelayed || phase_ == Phase::kWaiting)
    end(Phase::kDone);
}

void RecordingState::target_stands_still(std::uint64_t now_ns, bool still) {
  if (phase_ != Phase::kTargetAsked) return;
  if (!still) {
    still_since_ns_.reset();
    return;
  }
  if (!still_since_ns_) still_since_ns_ = now_ns;
  if (now_ns - *still_since_ns_ < plan_.patience_ns) return;
  finish();
}

Task RecordingState::written(std::uint64_t now_ns) {
  if (phase_ != Phase::kFinishing) return Task::kNone;
  if (failed_) {
    end(Phase::kFailed);
    return Task::kNone;
  }
  // An interrupt asks for an end, and a command that got a request has had its time.
  const bool wait =
      plan_.launched && !target_ended_ && !asked_ && !do_not_wait_ && stopped_by_ != StopReason::kInterrupted;
  if (!wait) {
    end(Phase::kDone);
    return Task::kNone;
  }
  asked_ = true;
  phase_ = Phase::kWaiting;
  due_ns_ = now_ns + plan_.patience_ns;
  return Task::kAskTarget;
}

void RecordingState::failed() {
  if (ended()) return;
  failed_ = true;
  if (recording())
    finish();
  else if (phase_ != Phase::kFinishing)
    end(Phase::kFailed);
}

}  // namespace fathom::session
