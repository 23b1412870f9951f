// The heaps of all processes of one recording: started with the targets, followed when one of them executes
// another program, ended with the recording.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attach/inject/stop/guardian.h"
#include "record/session/heap/heap_tracing.h"
#include "record/session/heap/probed_heap.h"
#include "record/session/record_options.h"
#include "record/session/tracking/source.h"

namespace fathom::session {

class HeapRecordings {
 public:
  // All in `context`, and the source, outlive this object.
  HeapRecordings(const RecordOptions& options, const HeapContext& context, Source& source);

  // By the process's own probes where that is enough (ProbedHeap), else by the tracer. `from_start`: the process stands at its
  // first instruction.
  Result<> trace(std::int32_t pid, bool from_start);
  // Programs that this child of ours executes are traced from their first instruction, if the engine can hold
  // them there. `drain`: takes what the engine has seen so far.
  Result<> hold_execs(std::int32_t pid, std::function<void()> drain);
  // As HeapTracing, for each of them.
  void refresh();
  void take(std::span<const EventSink::MemoryCall> calls);
  void take(std::span<const EventSink::HeapProbed> events);
  void publish(bool cut = false);
  void end();
  // After end(), once all that the engine has seen was taken.
  void finish();

  // Of this process, while the tracer is in it; else null.
  HeapTracing* find(std::int32_t pid);
  // Notes, and for how long the targets were stopped.
  void account(model::Quality& quality);
  RecordOutcome::HeapOutcome outcome() const;
  // What is traced so far: "9 functions of glibc malloc (libc.so.6)". "": nothing yet.
  std::string describe_tracing() const;
  // Allocators that could not be traced: one line each, with the reason and the remedy.
  std::vector<std::string> describe_unseen() const;
  // Allocators without names that are traced, and by what evidence: a line each.
  std::vector<std::string> describe_found_by_code() const;

 private:
  bool listen(std::int32_t pid);
  ProbedHeap* find_probed(std::int32_t pid);
  std::string describe_stops() const;
  void follow_held();
  void follow_executed();
  bool trace_executed(std::int32_t pid);
  void trace_children();
  // A process that was not held may be seen before its libraries are mapped: it is checked again soon.
  bool is_still_loading(std::int32_t pid);
  void name_untraced();

  HeapTracingOptions options_;
  HeapContext context_;
  inject::DetachGuardian* guardian_;  // may be null
  bool stops_told_ = false;
  struct IntervalNote {
    std::uint64_t changes = 0;
    std::string text;  // as it stands among the notes
  };
  void note_interval(const HeapTracing& heap, model::Quality& quality);
  std::map<const HeapTracing*, IntervalNote> interval_notes_;
  bool children_;
  std::vector<std::unique_ptr<HeapTracing>> heaps_;
  std::vector<std::unique_ptr<ProbedHeap>> probed_;
  std::map<std::int32_t, std::uint64_t> loading_since_ns_;  // when that was first seen
  std::set<std::int32_t> executed_;                         // those to be traced again
  std::set<std::int32_t> roots_, tried_;  // targets; processes that were traced or could not be
  Source& source_;
  // While programs of a process are held: by whom, whose, and how many of them were seen to.
  ExecHolder* holder_ = nullptr;
  std::optional<inject::Guardian> holding_;
  std::int32_t held_pid_ = 0;
  std::uint64_t held_ = 0;
  std::function<void()> drain_;
  bool named_ = false;
};

}  // namespace fathom::session
