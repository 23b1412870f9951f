// The recorded data and its way into the file: the engine, processes and stacks, the heap, the series, the
// names, the file. It knows no limit, no request and no end of the target: the session decides when to begin
// and to end.
//
//   side band ─┐
//   engine ────┤─► merge by time ─► process table ─► stacks, samples ─► file, once a second
//   /proc  ────┘                                └─► symbol worker ─► names ─┘
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "binary/symbolize/worker.h"
#include "linux/process/machine_time.h"
#include "model/store/writer.h"
#include "record/session/calls/call_probes.h"
#include "record/session/companions.h"
#include "record/session/heap/heap_recordings.h"
#include "record/session/launch.h"
#include "record/session/memory/memory_series.h"
#include "record/session/memory/memory_snapshots.h"
#include "record/session/memory/metric_series.h"
#include "record/session/memory/oom_watch.h"
#include "record/session/memory/rare_readings.h"
#include "record/session/own_cost.h"
#include "record/session/process_endings.h"
#include "record/session/record_options.h"
#include "record/session/tracking/cpu_times.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/lost_names.h"
#include "record/session/tracking/module_catalog.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/source.h"
#include "record/session/tracking/stack_resolver.h"
#include "record/session/urgency.h"

namespace fathom::session {

// How the targets ended, those that have.
struct TargetEnds {
  struct End {
    std::int32_t pid = 0;
    std::optional<int> wait_status;  // as in wait(2); nullopt: unknown
  };
  std::vector<End> ends;
  bool launched = false;  // the one of them was
};

// With one engine, from begin to end: where that fails when it starts, another Recording takes its place.
// In this order: open(), create_file(), one of the two begin(), step() every kStepEvery, end(), finish().
class Recording {
 public:
  static constexpr std::uint64_t kStepEvery = 50'000'000;  // ns; the rings are emptied without any wake-up

  // `options` outlives it. `source` is opened; `obstacles`: why a better one is not used.
  Recording(const RecordOptions& options, std::unique_ptr<Source> source, std::vector<std::string> obstacles);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // All that needs no target.
  void open();
  // The file gets its name, and an earlier one is replaced, once it has begun.
  Result<> create_file();
  // Attaches to running processes. The heap is traced of those of `targets`; the others are children of them.
  Result<> begin(const std::vector<std::int32_t>& pids, const std::vector<std::int32_t>& targets);
  // One more target while it records, without its heap; false: it has ended, or this engine takes no more.
  bool join(std::int32_t pid);
  // Lets a held command go when all is ready for its first instruction.
  Result<> begin(LaunchedProcess& held);
  // Loads in advance what the command will map.
  void expect_program(const std::string& path) { modules_->prepare(path); }

  // Once it has begun: descriptors to wake up for, in addition to the time.
  std::vector<int> fds() const { return source_->fds(); }
  // Takes what has come in; once a second saves it.
  Result<> step(std::uint64_t now_ns);
  bool memory_reached() const;
  bool enough() const { return companions_.enough(); }  // a companion wants it to end
  // Nothing is recorded any more, and nothing of ours is in the target.
  void end();
  // Completes the file.
  Result<> finish(const TargetEnds& targets, RecordOutcome& outcome);

  // begin() failed because the engine did not start: nothing was recorded, and no command was started.
  bool engine_failed() const { return engine_failed_; }
  void note_once(std::string note);
  const model::Quality& quality() const { return profile_.quality; }
  // Of the targets, by the scheduler's clock; nullopt: unknown.
  std::optional<double> cpu_seconds() const {
    return cpu_times_->known() ? std::optional(static_cast<double>(cpu_times_->total_ns()) * 1e-9)
                               : std::nullopt;
  }
  std::string traced_allocators() const { return heaps_ ? heaps_->describe_tracing() : std::string(); }
  std::vector<std::string> unseen_allocators() const {
    return heaps_ ? heaps_->describe_unseen() : std::vector<std::string>();
  }
  std::vector<std::string> allocators_found_by_code() const {
    return heaps_ ? heaps_->describe_found_by_code() : std::vector<std::string>();
  }
  std::uint64_t bytes_written() const { return writer_ ? writer_->bytes_written() : 0; }

 private:
  static constexpr std::size_t kMaxStacks =
      4'000'000;  // 64 MB of rows and index: the bound of the profiler's memory
  struct Tables {
    model::Profile profile;
    model::Builder builder{profile};
  };
  Result<> start_source(const std::vector<std::int32_t>& pids);
  void describe();
  Result<> launch_held(LaunchedProcess& held);
  Result<> begin_heap(std::int32_t pid);
  void drain();
  void take_names();
  void account();
  OwnCpu own_cpu() const;
  void account_own_cost();
  void account_machine();
  void sample_memory(std::uint64_t now_ns);
  void sample_metrics();
  void note_shared_rows();
  void watch_memory_limits();
  void tell_endings(const TargetEnds& targets);
  std::vector<std::int32_t> processes_left_by_command(const TargetEnds& targets) const;
  Result<> save();
  Result<> write_anew(bool last);
  void clear_rows();
  HeapRecordings* heaps() { return heaps_ ? &*heaps_ : nullptr; }

  const RecordOptions& options_;
  std::unique_ptr<Tables> tables_;
  model::Profile& profile_;
  model::Builder& builder_;
  std::optional<store::Writer> writer_;
  symbolize::Worker symbols_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<ModuleCatalog> modules_;
  std::unique_ptr<ProcessTable> processes_;
  std::unique_ptr<StackResolver> stacks_;
  std::unique_ptr<EventSink> sink_;
  std::unique_ptr<CpuTimes> cpu_times_;
  std::unique_ptr<MemorySeries> memory_;
  std::unique_ptr<metrics::Scraper> scraper_;
  std::optional<MetricSeries> metric_series_;
  std::unique_ptr<MemorySnapshots> snapshots_;
  OomWatch oom_watch_;
  RareReadings rare_readings_;
  ProcessEndings endings_;
  std::optional<HeapRecordings> heaps_;
  std::optional<CallProbes> probes_;
  Urgency urgency_;
  OwnCost own_cost_;
  Companions companions_;
  Batch batch_;
  std::uint64_t next_memory_ns_ = 0, next_save_ns_ = 0, last_rescan_ns_ = 0;
  Result<process::MachineTime> machine_before_ = process::MachineTime{};  // when it began
  bool stack_table_noted_ = false, is_ending_ = false, engine_failed_ = false;
  bool has_file_ = false;                // there is one of ours under the name
  std::string shared_rows_note_;         // as it stands among the notes
  std::uint64_t shared_rows_noted_ = 0;  // processes and threads, when it was written
  LostNames lost_names_;
  std::string lost_names_noted_;
  std::vector<std::string> obstacles_;  // why a better engine was not used
};

}  // namespace fathom::session
