// One engine at work, from its events to rows of the profile:
//
//   side band ─┐
//   engine ────┤─► merge by time ─► process table ─► stacks, samples, waits
//   /proc  ────┘
//
// It knows no file, no heap and no end of the target.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "binary/symbolize/worker.h"
#include "model/profile.h"
#include "record/session/record_options.h"
#include "record/session/tracking/cpu_times.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/module_catalog.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/source.h"
#include "record/session/tracking/stack_resolver.h"

namespace fathom::session {

class EngineRun {
 public:
  static constexpr std::size_t kMaxStacks =
      4'000'000;  // 64 MB of rows and index: the bound of the profiler's memory

  // All outlive it; `source` is opened.
  EngineRun(const RecordOptions& options, model::Profile& profile, model::Builder& builder,
            symbolize::Worker& symbols, std::unique_ptr<Source> source);

  Source& source() { return *source_; }
  ModuleCatalog& modules() { return modules_; }
  ProcessTable& processes() { return processes_; }
  const ProcessTable& processes() const { return processes_; }
  StackResolver& stacks() { return stacks_; }
  EventSink& sink() { return sink_; }
  CpuTimes& cpu_times() { return cpu_times_; }
  const CpuTimes& cpu_times() const { return cpu_times_; }

  // Begins with processes that run; which of them cannot be read decides whether it begins at all.
  enum class Unreadable : std::uint8_t { kFails, kIsNoted, kIsIgnored };
  using WhatIfUnreadable = std::function<Unreadable(std::int32_t pid)>;
  Result<> begin(const std::vector<std::int32_t>& pids, const WhatIfUnreadable& if_unreadable);
  // Begins with a child of ours, which becomes the target with its next exec.
  Result<> begin_with_exec(std::int32_t pid);
  // begin() failed because the engine did not start: another one may.
  bool failed() const { return failed_; }
  // One more process; false: it has ended, or this engine takes no more.
  bool join(std::int32_t pid);

  // Takes what has come in.
  void drain();
  // Processes that ended since the last call, in time order; what is known of how.
  std::vector<sources::ThreadCpuTime> take_ended_processes() { return std::exchange(ended_processes_, {}); }
  // CPU time of all threads so far; `unsampled_only`: if some process is not sampled.
  void refresh_cpu_times(bool unsampled_only = false);
  void sum_waits(std::uint64_t now_ns);
  // A walk left all known mappings, or records were lost: mappings of these processes are read again.
  void reread_doubtful();
  void forget_ended(std::uint64_t before_ns) { sink_.forget_ended(before_ns); }

  // Nothing is recorded any more; what is in the rings is left to drain().
  void stop();
  void release() { source_->release(); }
  // After drain(): adds waits that are in progress, cut at `end_ns`. They go on, unless stop() came before.
  void cut_waits(std::uint64_t end_ns);

 private:
  Result<> start(const std::vector<std::int32_t>& pids);
  void enter_threads(const std::vector<std::int32_t>& pids, std::uint64_t now_ns);

  model::Profile& profile_;
  std::unique_ptr<Source> source_;
  ModuleCatalog modules_;
  ProcessTable processes_;
  StackResolver stacks_;
  EventSink sink_;
  CpuTimes cpu_times_;
  Batch batch_;
  std::vector<sources::ThreadCpuTime> ended_processes_;
  bool failed_ = false;
};

}  // namespace fathom::session
