#include "cli/cost_estimate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "linux/process/descendants.h"
#include "record/session/own_cost.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kMostThreadsRead = 512;  // a file each
constexpr std::uint64_t kShortestNs = 20'000'000;

// Measured, in seconds of CPU; docs/performance.md has where and how. A sample: eight C++ frames; for Python,
// on a machine filled with other programs.
constexpr CostRange kSample{1.4e-6, 10e-6};
// Booking a switch and the wake-up before it: of 300 threads that are mostly parked; of two that do nothing else.
constexpr CostRange kSwitch{0.07e-6, 0.44e-6};
// Waits are walked up to a rate, at what a sample costs: a program with nothing but switches; a node that fills its CPUs.
constexpr CostRange kWalksPerSecond{1000, 4500};
// The recorder in user space, after its start: of an idle program in a minute; of a loaded one in the first
// seconds.
constexpr CostRange kRecorder{0.003, 0.025};
// One pair of malloc and free, sampled and each recorded, in nanoseconds.
constexpr int kSampledPairNs = 8, kExactPairNs = 90;

// Bytes in the file, packed: of a sample and of a walked wait (two programs in C++ and Rust; one in Python); of the looks at
// memory and threads in a second; of names and first stacks (a sleeping program; Python under load).
constexpr CostRange kSampleBytes{4, 15}, kWaitBytes{1, 20}, kLooksBytes{800, 1500},
    kStartBytes{2'000, 60'000};
// Walked waits in a second that differ from others enough to take room in the file.
constexpr double kMostWaitsStored = 1000;

std::string range_text(const CostRange& range) {
  return fmt::format("{} to {}", analysis::percent_number(range.low), analysis::percent(range.high));
}

std::string heap_text(const session::RecordOptions& options) {
  switch (options.heap) {
    case session::Heap::kNone:
      break;
    case session::Heap::kSampled:
      return fmt::format("heap about {} ns for each pair of malloc and free (a sample for {} of them)",
                         kSampledPairNs, analysis::bytes(options.heap_interval_bytes));
    case session::Heap::kExact:
      return fmt::format("heap about {} ns for each pair of malloc and free", kExactPairNs);
  }
  return "";
}

}  // namespace

std::size_t ActivityReading::threads() const {
  std::size_t sum = 0;
  for (const auto& [pid, process] : processes) sum += process.threads;
  return sum;
}

std::vector<std::int32_t> recorded_processes(const session::RecordOptions& options) {
  std::vector<std::int32_t> pids = options.pids;
  if (options.follow_children && !options.pids_are_members)
    std::ranges::copy(process::living_children(options.pids), std::back_inserter(pids));
  return pids;
}

ActivityReading read_activity(const std::vector<std::int32_t>& pids) {
  ActivityReading reading;
  for (const std::int32_t pid : pids) {
    auto tids = process::read_thread_ids(pid);
    if (!tids) continue;
    ActivityReading::Process& process = reading.processes[pid];
    process.threads = tids->size();
    tids->resize(std::min(tids->size(), kMostThreadsRead));
    for (const int tid : *tids)
      if (const auto times = process::read_schedstat(pid, tid)) process.read.emplace(tid, *times);
  }
  reading.time_ns = monotonic_ns();
  return reading;
}

std::optional<TargetActivity> activity_between(const ActivityReading& first, const ActivityReading& second) {
  if (second.threads() == 0 || second.time_ns < first.time_ns + kShortestNs) return std::nullopt;
  const auto ns = static_cast<double>(second.time_ns - first.time_ns);
  TargetActivity all{second.threads(), 0, 0};
  for (const auto& [pid, now] : second.processes) {
    const auto process = first.processes.find(pid);
    if (process == first.processes.end()) continue;
    const bool is_cut = now.threads > kMostThreadsRead;
    double ran_ns = 0, slices = 0;
    std::size_t counted = 0;
    for (const auto& [tid, times] : now.read) {
      process::SchedulerTimes before;
      const auto known = process->second.read.find(tid);
      // One that is new began meanwhile; where not all are read, it may only have come in reach.
      if (known == process->second.read.end() && (is_cut || process->second.threads > kMostThreadsRead))
        continue;
      if (known != process->second.read.end()) before = known->second;
      ++counted;
      ran_ns += static_cast<double>(times.ran_ns - std::min(times.ran_ns, before.ran_ns));
      slices += static_cast<double>(times.slices - std::min(times.slices, before.slices));
    }
    if (counted == 0) continue;
    const double stands_for = is_cut ? static_cast<double>(now.threads) / static_cast<double>(counted) : 1;
    all.busy_cpus += stands_for * ran_ns / ns;
    all.switches_per_s += stands_for * slices / ns * 1e9;
  }
  return all;
}

CostEstimate estimate_cost(const session::RecordOptions& options, const TargetActivity& activity) {
  CostEstimate cost;
  if (options.cpu) {
    const double samples = options.frequency_hz * activity.busy_cpus;
    cost.samples = {samples * kSample.low, samples * kSample.high};
    cost.is_bounded = options.frequency_hz <= session::kMeasuredFrequencyHz;
  }
  if (options.off_cpu) {
    const double switches = activity.switches_per_s;
    cost.waits = {switches * kSwitch.low + std::min(switches, kWalksPerSecond.low) * kSample.low,
                  switches * kSwitch.high + std::min(switches, kWalksPerSecond.high) * kSample.high};
  }
  cost.recorder = kRecorder;
  return cost;
}

std::string cost_line(const session::RecordOptions& options, const std::optional<TargetActivity>& activity) {
  std::vector<std::string> parts;
  const CostEstimate cost = estimate_cost(options, activity.value_or(TargetActivity{0, 1, 1000}));
  const std::string not_known = fmt::format("; how much more is not known above {} Hz",
                                            analysis::with_commas(session::kMeasuredFrequencyHz));
  if (options.cpu && !cost.is_bounded)
    parts.push_back(activity
                        ? fmt::format("samples at least {} ({:.2f} CPUs busy, {} Hz{})",
                                      analysis::percent(cost.samples.low), activity->busy_cpus,
                                      options.frequency_hz, not_known)
                        : fmt::format("samples at least {} for each busy CPU ({} Hz{})",
                                      analysis::percent(cost.samples.low), options.frequency_hz, not_known));
  else if (options.cpu)
    parts.push_back(activity ? fmt::format("samples {} ({:.2f} CPUs busy, {} Hz)", range_text(cost.samples),
                                           activity->busy_cpus, options.frequency_hz)
                             : fmt::format("samples {} for each busy CPU ({} Hz)", range_text(cost.samples),
                                           options.frequency_hz));
  if (options.off_cpu)
    parts.push_back(activity ? fmt::format("waits {} ({} switches/s of {})", range_text(cost.waits),
                                           analysis::with_commas(static_cast<std::int64_t>(
                                               std::min(activity->switches_per_s, 1e9))),
                                           analysis::counted(activity->threads, "thread"))
                             : fmt::format("waits {} for 1,000 switches/s", range_text(cost.waits)));
  parts.push_back("fathom itself " + range_text(cost.recorder));
  if (std::string heap = heap_text(options); !heap.empty()) parts.push_back(std::move(heap));
  if (!activity) return fmt::format("expected cost, of one CPU: {}", fmt::join(parts, ", "));
  return fmt::format(
      "expected cost: {} of one CPU as it runs now: {}",
      cost.is_bounded ? range_text(cost.all()) : "at least " + analysis::percent(cost.all().low),
      fmt::join(parts, ", "));
}

SizeEstimate estimate_size(const session::RecordOptions& options, const TargetActivity& activity,
                           double seconds) {
  const double samples = options.cpu ? options.frequency_hz * activity.busy_cpus * seconds : 0;
  const double waits = options.off_cpu ? std::min(activity.switches_per_s, kMostWaitsStored) * seconds : 0;
  const auto bytes_at = [&](double sample, double wait, double looks) {
    return samples * sample + waits * wait + looks * seconds;
  };
  return {.start = kStartBytes,
          .course = {bytes_at(kSampleBytes.low, kWaitBytes.low, kLooksBytes.low),
                     bytes_at(kSampleBytes.high, kWaitBytes.high, kLooksBytes.high)}};
}

std::string size_line(const session::RecordOptions& options, const std::optional<TargetActivity>& activity) {
  constexpr double kMinute = 60;
  const double seconds = options.duration_s.value_or(kMinute);
  const CostRange size = estimate_size(options, activity.value_or(TargetActivity{0, 1, 1000}), seconds).all();
  std::string line =
      fmt::format("expected size: {} to {} for {}", analysis::bytes(size.low), analysis::bytes(size.high),
                  options.duration_s ? analysis::seconds(seconds) : "the first minute");
  if (!activity) line += " with one busy CPU and 1,000 switches/s";
  if (options.heap != session::Heap::kNone) line += "; the heap adds to it by call site, not by allocation";
  return line;
}

}  // namespace fathom::cli
