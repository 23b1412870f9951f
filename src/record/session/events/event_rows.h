// Named events of one recording, from the engine's records to samples of the profile (model/event_samples.h).
#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.h"
#include "record/bpf/kernel_events.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class EventRows {
 public:
  // All outlive it.
  EventRows(const std::vector<sources::NamedEvent>& events, model::Profile& profile, model::Builder& builder,
            ProcessTable& processes, EventSink& sink);

  // Takes what has come; null: the engine has not started. Their stacks come with what the engine delivers next.
  void collect(sources::KernelEvents* source);
  // Turns it into rows, once that has been delivered.
  void add_rows();
  // What was counted, as a fact of the recording, and what is missing.
  void account();

 private:
  struct Event {
    model::FrameId frame;
    std::uint64_t samples = 0;
  };
  const std::vector<sources::NamedEvent>& wanted_;
  model::Profile& profile_;
  model::Builder& builder_;
  ProcessTable& processes_;
  EventSink& sink_;
  sources::KernelEvents* source_ = nullptr;
  std::vector<Event> events_;
  std::vector<kernel_event_record> waiting_;
};

}  // namespace fathom::session
