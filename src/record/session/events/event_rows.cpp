#include "record/session/events/event_rows.h"

#include <algorithm>
#include <iterator>

#include "model/event_samples.h"
#include "record/session/notes.h"

namespace fathom::session {

EventRows::EventRows(const std::vector<sources::NamedEvent>& events, model::Profile& profile,
                     model::Builder& builder, ProcessTable& processes, EventSink& sink)
    : wanted_(events), profile_(profile), builder_(builder), processes_(processes), sink_(sink) {
  for (const sources::NamedEvent& event : events)
    events_.push_back({model::event_frame(builder, event.name)});
}

void EventRows::collect(sources::KernelEvents* source) {
  source_ = source;
  if (source_ == nullptr) return;
  std::ranges::move(source_->take(), std::back_inserter(waiting_));
}

void EventRows::add_rows() {
  for (const kernel_event_record& record : waiting_) {
    if (record.event >= events_.size()) continue;
    Event& event = events_[record.event];
    model::Sample sample;
    sample.time_ns = record.time_ns;
    sample.value = record.value;
    sample.thread =
        processes_.thread_row(static_cast<std::int32_t>(record.pid), static_cast<std::int32_t>(record.tid));
    model::StackId stack;
    if (const auto resolved = sink_.stack_of(record.stack_id)) {
      stack = resolved->stack;
      sample.end = resolved->end;
    }
    sample.stack = builder_.stack(stack, event.frame);
    sample.cpu = static_cast<std::uint16_t>(record.cpu);
    sample.metric = model::Metric::kWall;
    profile_.samples.push_back(sample);
    ++event.samples;
  }
  waiting_.clear();
}

void EventRows::account() {
  if (source_ == nullptr) return;
  const std::vector<sources::KernelEventSums> sums = source_->sums();
  std::vector<model::RecordedEvent> recorded;
  for (std::size_t i = 0; i < std::min(sums.size(), events_.size()); ++i) {
    const sources::NamedEvent& wanted = wanted_[i];
    model::RecordedEvent& event = recorded.emplace_back();
    event.name = wanted.name;
    event.count = sums[i].count;
    event.value = sums[i].value;
    event.samples = events_[i].samples;
    event.lost = sums[i].lost;
    // "weight=bytes" counts bytes; a field of another name counts in units of its own.
    event.unit =
        wanted.field.size == 0 ? (wanted.is_tracepoint() ? "events" : wanted.name) : wanted.field.name;
  }
  profile_.meta.facts[model::kEventsFact] = model::events_fact(recorded);
  if (std::ranges::any_of(recorded, [](const model::RecordedEvent& event) { return event.lost != 0; }))
    note_once(profile_.quality,
              "the event ring was full: fathom counted some events of -e without their stacks");
}

}  // namespace fathom::session
