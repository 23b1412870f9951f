// Events that a user names, as perf does: software and hardware events, tracepoints, and patterns of tracepoints.
//
//   page-faults                      each event counts as one
//   page-faults/100  page-faults/period=100/   one sample in 100 events
//   page-faults/freq=99/             99 samples per second
//   block:*                          every tracepoint that fits
//   block:block_rq_issue/weight=bytes/         each counts for its field `bytes`
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/perf/tracepoints.h"

namespace fathom::sources {

struct NamedEvent {
  std::string name;                // "page-faults", "block:block_rq_issue"
  std::uint32_t type = 0;          // perf_event_attr::type
  std::uint64_t config = 0;        // perf_event_attr::config
  std::uint64_t period = 0;        // 0: not given
  std::uint32_t frequency_hz = 0;  // 0: none; hardware events have one unless they have a period
  TracepointField field = {};      // of the weight; size 0: none
  bool is_tracepoint() const { return name.find(':') != std::string::npos; }
};

// One wish of the user, before it is looked up.
struct EventWish {
  std::string name;
  std::uint64_t period = 0;
  std::uint32_t frequency_hz = 0;
  std::string weight = {};
  bool operator==(const EventWish&) const = default;
};

// Lists separated by commas. A part that is a number, or one of the terms above, belongs to the event before it, so
// "block:block_rq_issue,weight=bytes,page-faults" are two events. kUsage where a term makes no sense.
Result<std::vector<EventWish>> parse_events(const std::vector<std::string>& lists);

// Hardware events get `frequency_hz` unless the wish has a rate or period of its own. An event that several wishes name is there
// once. `tracepoints` is asked only for names with a colon. kNotFound, with a remedy, where there is no such event.
using OpenTracepoints = Result<Tracepoints> (*)();
Result<std::vector<NamedEvent>> find_events(const std::vector<EventWish>& wishes, std::uint32_t frequency_hz,
                                            OpenTracepoints tracepoints = &Tracepoints::open);

}  // namespace fathom::sources
