// What each event of a perf.data is to us. Values of one kind can be added up, so of several kinds one is taken for the CPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/perf_data/container.h"

namespace fathom::formats {

enum class EventUse : std::uint8_t {
  kLeftOut,
  kCpu,         // samples, each worth its period
  kSwitch,      // sched:sched_switch
  kWakeUp,      // sched:sched_waking, sched:sched_wakeup
  kOffCpuTime,  // of perf record --off-cpu: the period is the time
};

struct EventChoice {
  std::vector<EventUse> uses;      // of each event
  std::vector<std::string> names;  // of each event; never empty
  std::string cpu_event;           // "cycles"; empty: none has samples
  std::string left_out;            // "instructions, branches"; empty: nothing
  bool nanoseconds = false;        // the periods of kCpu are
};

// `samples`: how many there are of each event.
EventChoice choose_events(const PerfContainer& container, std::span<const std::uint64_t> samples);

}  // namespace fathom::formats
