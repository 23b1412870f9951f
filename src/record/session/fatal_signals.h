// The signals that ended recorded processes, with their stacks, as facts of the recording (model/fatal_signal.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/profile.h"
#include "record/session/tracking/event_sink.h"

namespace fathom::session {

class FatalSignals {
 public:
  static constexpr std::size_t kMostProcesses =
      64;  // of a shell it may be thousands; those that are seen first

  void saw(const std::vector<EventSink::FatalSignal>& signals);
  // Once the frames have their names.
  void tell(model::Profile& profile) const;

 private:
  std::map<std::int32_t, EventSink::FatalSignal> by_pid_;
};

}  // namespace fathom::session
