// The heap of one process that samples its own allocations and reports them at static probes (otel_memory):
// has the kernel set breakpoints there, and fills the profile from them. Nothing of ours is in the process.
// Used in sampled mode if the process has such probes and the engine can listen to them; else HeapTracing
// places the tracer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "binary/probes/heap_probes.h"
#include "record/bpf/heap_probes.h"
#include "record/heap/probe_collector.h"
#include "record/session/heap/heap_tables.h"
#include "record/session/heap/heap_tracing.h"
#include "record/session/tracking/event_sink.h"

namespace fathom::session {

class ProbedHeap {
 public:
  // All in `context`, and `probes`, outlive it; `probes` is null if the engine has none. nullptr: the process has no such
  // probes. An error: it has, and they cannot be listened to; why, as the end of a sentence. Either way the process is as it was.
  static Result<std::unique_ptr<ProbedHeap>> start(std::int32_t pid, const HeapTracingOptions& options,
                                                   const HeapContext& context, sources::HeapProbes* probes);
  ~ProbedHeap();  // end()
  ProbedHeap(const ProbedHeap&) = delete;
  ProbedHeap& operator=(const ProbedHeap&) = delete;

  std::int32_t pid() const { return pid_; }
  bool ended() const { return ended_; }
  // As ProcessTable counts them, when the breakpoints were set.
  std::uint32_t programs_executed() const { return programs_executed_; }
  // As HeapTracing has them.
  void refresh();
  void take(std::span<const EventSink::HeapProbed> events);
  void publish(bool cut = false);
  // Removes the breakpoints; events from before may still be taken, until finish().
  void end();
  void finish();
  // The process has executed another program.
  void end_image();
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  // "the program's own otel_memory probes (alloc at 2 places, free at 1, in libx.so); nothing was put into it".
  std::string describe() const;

 private:
  struct OfModule {
    const CodeModule* module;
    std::string path;
    probes::HeapProbes probes;
  };
  ProbedHeap(std::int32_t pid, const HeapTracingOptions& options, const HeapContext& context,
             sources::HeapProbes* probes);
  // Modules that were not looked into yet, and have probes.
  std::vector<OfModule> find_more();
  Result<> listen(const std::vector<OfModule>& modules);
  void begin(std::uint64_t start_ns, const std::vector<OfModule>& modules);
  void add_rows(const OfModule& module, model::HeapAllocatorId allocator);
  void write_slice(bool last);
  sources::heap::Counters counters() const;
  heap_probe_counters sums()
      const;  // since start(): the kernel's are of the process, which may have had another program

  std::int32_t pid_;
  HeapTracingOptions options_;
  HeapContext context_;
  sources::HeapProbes* probes_;  // null only until start() refuses
  std::uint32_t programs_executed_;
  std::set<const CodeModule*> looked_into_;
  std::vector<OfModule> modules_;  // that are listened to
  std::optional<HeapTables> rows_;
  std::optional<sources::heap::ProbeCollector> collector_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  // of profile stacks, counted from 1
  std::unordered_map<std::uint32_t, model::ThreadId> threads_;
  std::vector<std::string> notes_;
  model::HeapAllocatorId allocator_;
  heap_probe_counters sums_before_{};
  std::uint64_t incomplete_ = 0;
  std::uint32_t slices_ = 0;
  bool ended_ = false, finished_ = false;
};

}  // namespace fathom::session
