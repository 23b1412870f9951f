// The heaps of all processes of one recording: started with the targets, followed when one of them executes
// another program, ended with the recording.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/heap/heap_tracing.h"
#include "session/record_options.h"

namespace fathom::session {

class HeapRecordings {
 public:
  // All in `context` outlives this object.
  HeapRecordings(const RecordOptions& options, const HeapContext& context);

  // `from_start`: the process stands at its first instruction.
  Result<> trace(std::int32_t pid, bool from_start);
  // As HeapTracing, for each of them.
  void refresh();
  void take(std::span<const EventSink::MemoryCall> calls);
  void publish();
  void end();

  // Of this process, while it is traced; else null.
  HeapTracing* find(std::int32_t pid);
  // Notes, and for how long the targets were stopped.
  void account(model::Quality& quality);
  RecordOutcome::HeapOutcome outcome() const;

 private:
  std::string describe_stops() const;

  HeapTracingOptions options_;
  HeapContext context_;
  inject::DetachGuardian* guardian_;  // may be null
  bool stops_told_ = false;
  std::vector<std::unique_ptr<HeapTracing>> heaps_;
};

}  // namespace fathom::session
