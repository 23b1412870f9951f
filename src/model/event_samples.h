// Samples of named events (`record -e page-faults`) in a recording, next to those of CPU time. In the file such a sample has the
// metric wall, which no recorder gives to anything else, and its stack ends in a frame of module kEventModule that is named like
// the event. A reader looks at one event at a time: choose_events() makes its samples those of metric cpu, as in a file of another
// tool that has sampled that event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::model {

inline constexpr const char* kEventModule = "[events]";
inline constexpr const char* kEventsFact = "events";

// What was counted of an event, exactly, of the recorded processes.
struct RecordedEvent {
  std::string name = {};
  std::uint64_t count = 0;
  std::int64_t value = 0;     // the same, by weight
  std::uint64_t samples = 0;  // rows; where they are as many as `count`, each event is there
  std::uint64_t lost = 0;     // samples for which there was no room
  std::string unit = {};      // "page-faults", "bytes"
  bool operator==(const RecordedEvent&) const = default;
};

// A line each: "NAME COUNT VALUE SAMPLES LOST UNIT".
std::string events_fact(const std::vector<RecordedEvent>& events);
// Of a recording; untrusted text, so lines that do not parse are left out.
std::vector<RecordedEvent> recorded_events(const Meta& meta);

// The frame that stands for an event in stacks.
FrameId event_frame(Builder& builder, std::string_view name);

// Takes the samples of events apart: those whose name fits `pattern` (fnmatch(3)) become the samples of metric cpu, in place of
// those of CPU time; all others go. An empty pattern removes them all, unless the recording has no CPU samples; then it is the
// first event that has some. Nothing changes in a recording without events. kNotFound if no recorded event fits.
Result<> choose_events(Profile& profile, std::string_view pattern);

// Whether `pattern` names an event of this recording.
bool names_event(const Meta& meta, std::string_view pattern);

// What the metric is called in titles: where choose_events() has chosen an event, its samples are called like it.
std::string title_of(const Profile& profile, Metric metric);

}  // namespace fathom::model
