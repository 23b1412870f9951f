// What is known about the recorded processes at one moment of the recording: their threads and their
// executable mappings. Fed with side-band events in time order, and with /proc at the start. Knows no engine:
// what has to reach the walker goes through a small interface, so that it can be tested with made-up events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi/unwind_table.h"
#include "model/profile.h"
#include "session/tracking/module_catalog.h"
#include "sources/events.h"

namespace fathom::session {

// The walker, as far as processes matter to it.
class WalkerControl {
 public:
  virtual ~WalkerControl() = default;
  virtual void set_mappings(std::int32_t pid, std::span<const unwind_mapping> mappings,
                            std::uint32_t epoch) = 0;
  virtual void forget(std::int32_t pid) = 0;
  // The epoch after the process replaced its image.
  virtual std::uint32_t epoch_after_exec(std::int32_t pid, std::uint32_t known) = 0;
};

struct CodeMapping {
  std::uint64_t start = 0, end = 0;  // process addresses
  std::uint64_t bias = 0;            // 0 for code made at run time: frames hold process addresses
  CodeModule* module = nullptr;
};

class ProcessTable {
 public:
  // All three outlive the table. `follow_children`: forked processes are recorded too.
  ProcessTable(model::Profile& profile, ModuleCatalog& modules, WalkerControl& walker, bool follow_children);

  // Starts recording a process, or refreshes what is known about it, from /proc. False: it is gone.
  bool read_from_proc(std::int32_t pid);
  // A child of ours that will become the target with its next exec.
  void expect_exec(std::int32_t pid, std::uint64_t time_ns);

  // An event of any process of the machine, in time order; those of others are ignored. True: the set of
  // mappings of a recorded process changed.
  bool apply(const sources::SideBandEvent& event);

  // Code that appears in [start, end) of this process is the heap tracer's, also if it is there already.
  void expect_tracer(std::int32_t pid, std::uint64_t start, std::uint64_t end);

  bool is_recorded(std::int32_t pid) const { return processes_.contains(pid); }
  // Since the process is recorded; a launched one counts its own program, too.
  std::uint32_t programs_executed(std::int32_t pid) const;
  std::size_t live_processes() const { return processes_.size(); }
  std::vector<std::int32_t> pids() const;
  // Live threads of a recorded process.
  std::vector<std::int32_t> threads(std::int32_t pid) const;

  // The mapping of a recorded process that holds the address, or null.
  const CodeMapping* find(std::int32_t pid, std::uint64_t address) const;
  std::span<const CodeMapping> mappings(std::int32_t pid) const;

  // The row of a thread, made at its first use: threads come and go by the thousands, and most leave no
  // sample.
  model::ThreadId thread_row(std::int32_t pid, std::int32_t tid);
  // A row for a thread of a process that is not recorded, such as one that wakes ours.
  model::ThreadId foreign_thread_row(std::int32_t pid, std::int32_t tid);
  // nullopt if the thread never had a sample.
  std::optional<model::ThreadId> known_thread_row(std::int32_t tid) const;
  std::optional<std::int32_t> pid_of(std::int32_t tid) const;

  // Processes and threads that ended are kept for late events; the caller lets go of them when none can come
  // any more.
  void forget_ended(std::uint64_t before_ns);

 private:
  struct LiveThread {
    std::int32_t pid = 0;
    std::string name;
    std::uint64_t start_ns = 0;
    std::optional<model::ThreadId> row;
  };
  struct LiveProcess {
    model::ProcessId row;
    std::vector<CodeMapping> mappings;  // sorted, not overlapping, executable only
    std::set<std::int32_t> threads;
    std::uint32_t epoch = 1;
    std::uint32_t programs_executed = 0;
    std::uint64_t end_ns = 0;  // 0: it lives
  };

  LiveProcess& add_process(std::int32_t pid, std::int32_t parent_pid, std::uint64_t start_ns);
  void add_thread(std::int32_t pid, std::int32_t tid, std::uint64_t start_ns, std::string name);
  void end_thread(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns);
  // True: an address that had a meaning has another one now.
  bool insert_mapping(LiveProcess& process, const CodeMapping& mapping);
  std::optional<CodeMapping> code_mapping(std::int32_t pid, const process::MapEntry& entry);
  void publish(std::int32_t pid, const LiveProcess& process);

  bool on(const sources::ProcessForked& event);
  bool on(const sources::ProcessExeced& event);
  bool on(const sources::ThreadStarted& event);
  bool on(const sources::ThreadEnded& event);
  bool on(const sources::ThreadNamed& event);
  bool on(const sources::MemoryMapped& event);
  bool on(const sources::Lost&) { return false; }
  bool on(const sources::Throttled&) { return false; }

  model::Profile& profile_;
  ModuleCatalog& modules_;
  WalkerControl& walker_;
  bool follow_children_;
  std::map<std::int32_t, LiveProcess> processes_;
  std::unordered_map<std::int32_t, LiveThread> threads_;        // by tid; ended ones stay for late events
  std::unordered_map<std::int32_t, model::ProcessId> foreign_;  // by pid
  struct TracerCode {
    std::int32_t pid;
    std::uint64_t start, end;
  };
  std::vector<TracerCode> tracer_code_;
  std::deque<std::pair<std::uint64_t, std::int32_t>> ended_threads_;  // when, tid
};

}  // namespace fathom::session
