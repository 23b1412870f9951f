// What a recording will cost, said before it begins: what the target does now, times what a sample, a switch and a walked wait
// were measured to cost (docs/performance.md). A range, as stacks and machines differ: what it did cost is in the recording.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linux/process/threads.h"
#include "record/session/record_options.h"

namespace fathom::cli {

// What the scheduler has counted of the target's threads up to a moment. Of more than 512 of a process only so many are read.
struct ActivityReading {
  struct Process {
    std::size_t threads = 0;
    std::map<std::int32_t, process::SchedulerTimes> read;  // by thread, since its start
  };
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::map<std::int32_t, Process> processes;
  std::size_t threads() const;
};
ActivityReading read_activity(const std::vector<std::int32_t>& pids);

// The processes that a recording begins with: those to attach to, and what they have started.
std::vector<std::int32_t> recorded_processes(const session::RecordOptions& options);

// Its activity between two readings. If not all threads of a process were read, those read twice stand for
// the others: a thread's activity before the first reading says nothing about its rate.
struct TargetActivity {
  std::size_t threads = 0;
  double busy_cpus = 0;
  double switches_per_s = 0;
  bool operator==(const TargetActivity&) const = default;
};
// nullopt: too short, less than 20 ms, to say anything, or the target has ended.
std::optional<TargetActivity> activity_between(const ActivityReading& first, const ActivityReading& second);

// Shares of one CPU, or numbers of bytes.
struct CostRange {
  double low = 0, high = 0;
};
struct CostEstimate {
  CostRange samples, waits;  // in the target's own time
  CostRange recorder;        // of fathom's process, once it has started
  bool is_bounded = true;    // false: costs above `samples.low` were not measured at such a rate
  CostRange all() const {
    return {samples.low + waits.low + recorder.low, samples.high + waits.high + recorder.high};
  }
};
CostEstimate estimate_cost(const session::RecordOptions& options, const TargetActivity& activity);

// "expected cost: 0.9 to 3.2 % of one CPU as it runs now: samples 0.2 to 0.7 % (1.02 CPUs busy, 999 Hz), ...". Without an
// activity, as of a command that is not there yet: for each busy CPU, and for a thousand switches a second.
std::string cost_line(const session::RecordOptions& options, const std::optional<TargetActivity>& activity);

// Bytes of the file: what `seconds` add, and what the file has from its start (names and the first stacks).
struct SizeEstimate {
  CostRange start, course;
  CostRange all() const { return {start.low + course.low, start.high + course.high}; }
};
SizeEstimate estimate_size(const session::RecordOptions& options, const TargetActivity& activity,
                           double seconds);

// "expected size: 90 to 640 KiB for 30 s". Without -d of a minute; without an activity as of one busy CPU.
std::string size_line(const session::RecordOptions& options, const std::optional<TargetActivity>& activity);

}  // namespace fathom::cli
