// The recorded data and its way into the file: the engine, the heap, memory, names, the file. It knows no limit, no request
// and no end of the target: the session decides when to begin and to end. Each part has a file of its own; here is their order.
//
//   engine (engine_run.h) ─┬─► stacks, samples, waits ─┐
//   heap, probes ◄─────────┘                           ├─► file (recording_file.h), once a second
//   /proc ─► memory (memory_recording.h)  ─────────────┤
//   names (names.h) ─► accounts (accounts.h) ──────────┘
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/session/accounts.h"
#include "record/session/calls/call_probes.h"
#include "record/session/calls/system_call_rows.h"
#include "record/session/companions.h"
#include "record/session/events/event_rows.h"
#include "record/session/fatal_signals.h"
#include "record/session/heap/heap_recordings.h"
#include "record/session/launch.h"
#include "record/session/memory/memory_recording.h"
#include "record/session/names.h"
#include "record/session/record_options.h"
#include "record/session/recording_file.h"
#include "record/session/target_ends.h"
#include "record/session/tracking/engine_run.h"
#include "record/session/urgency.h"

namespace fathom::session {

// With one engine, from begin to end: where that fails when it starts, another Recording takes its place.
// In this order: create_file(), one of the two begin(), step() every RecordOptions::step_every_ns, end(), finish().
class Recording {
 public:
  // `options` outlives it. `source` is opened; `obstacles`: why a better one is not used.
  Recording(const RecordOptions& options, std::unique_ptr<Source> source, std::vector<std::string> obstacles);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The file gets its name, and an earlier one is replaced, once it has begun. Without RecordOptions::output there is none.
  Result<> create_file() { return options_.output.empty() ? Result<>() : file_.create(); }
  // Attaches to running processes. The heap is traced of those of `targets`; the others are children of them.
  Result<> begin(const std::vector<std::int32_t>& pids, const std::vector<std::int32_t>& targets);
  // One more target while it records, without its heap; false: it has ended, or this engine takes no more.
  bool join(std::int32_t pid);
  // Lets a held command go when all is ready for its first instruction.
  Result<> begin(LaunchedProcess& held);
  // Loads in advance what the command will map.
  void expect_program(const std::string& path) { engine_.modules().prepare(path); }

  // Once it has begun: descriptors to wake up for, in addition to the time.
  std::vector<int> fds() { return engine_.source().fds(); }
  // Takes what has come in; once a second saves it.
  Result<> step(std::uint64_t now_ns);
  bool memory_reached() const;
  bool enough() const { return companions_.enough(); }  // a companion wants it to end
  // Nothing is recorded any more, and nothing of ours is in the target.
  void end();
  // Completes the file.
  Result<> finish(const TargetEnds& targets, RecordOutcome& outcome);

  // begin() failed because the engine did not start: nothing was recorded, and no command was started.
  bool engine_failed() const { return engine_.failed(); }
  void note(std::string text) { note_once(profile_.quality, std::move(text)); }  // once
  const model::Quality& quality() const { return profile_.quality; }
  // Of the targets, by the scheduler's clock; nullopt: unknown.
  std::optional<double> cpu_seconds() const;
  std::string traced_allocators() const { return heaps_ ? heaps_->describe_tracing() : std::string(); }
  std::vector<std::string> unseen_allocators() const {
    return heaps_ ? heaps_->describe_unseen() : std::vector<std::string>();
  }
  std::vector<std::string> allocators_found_by_code() const {
    return heaps_ ? heaps_->describe_found_by_code() : std::vector<std::string>();
  }
  std::uint64_t bytes_written() const { return file_.bytes_written(); }

 private:
  struct Tables {
    model::Profile profile;
    model::Builder builder{profile};
  };
  void describe();
  Result<> launch_held(LaunchedProcess& held);
  Result<> begin_heap(std::int32_t pid);
  Result<> begun();
  void drain();
  Result<> step_each_second(std::uint64_t now_ns);
  void account(bool last);
  Result<> save();
  void fill_in(RecordOutcome& outcome);
  Companion::Readings readings();
  std::vector<model::Wait> open_waits(std::uint64_t now_ns);
  HeapRecordings* heaps() { return heaps_ ? &*heaps_ : nullptr; }

  const RecordOptions& options_;
  std::unique_ptr<Tables> tables_;
  model::Profile& profile_;
  model::Builder& builder_;
  Names names_;
  EngineRun engine_;
  MemoryRecording memory_;
  EndWatch ends_;
  FatalSignals fatal_signals_;
  std::optional<HeapRecordings> heaps_;
  std::optional<CallProbes> probes_;
  std::optional<EventRows> events_;
  std::optional<SystemCallRows> system_calls_;
  Companions companions_;
  Accounts accounts_;
  Urgency urgency_;  // ends before the parts do: taking them down may take a while
  RecordingFile file_;
  std::vector<std::string> obstacles_;  // why a better engine was not used
  std::uint64_t next_memory_ns_ = 0, next_save_ns_ = 0, last_reread_ns_ = 0;
};

}  // namespace fathom::session
