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

#include "base/abi/unwind_table.h"
#include "linux/events.h"
#include "model/profile.h"
#include "record/session/tracking/module_catalog.h"
#include "record/session/tracking/row_book.h"

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
  ProcessTable(model::Profile& profile, ModuleCatalog& modules, WalkerControl& walker, bool follow_children,
               const RowLimits& limits = {});

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
  std::vector<std::int32_t> pids() const;  // ascending
  // Those of them that have a row of their own so far. Ascending.
  std::vector<std::int32_t> pids_with_own_row() const;
  // Changes whenever mappings of the process do; 0: it is not recorded.
  std::uint64_t mappings_version(std::int32_t pid) const;
  // The rows cover only the program, not the process (RowLimits).
  bool shares_row(std::int32_t pid);
  // Live threads of a recorded process.
  std::vector<std::int32_t> threads(std::int32_t pid) const;

  // The mapping of a recorded process that holds the address, or null.
  const CodeMapping* find(std::int32_t pid, std::uint64_t address) const;
  std::span<const CodeMapping> mappings(std::int32_t pid) const;

  // The row of a thread, made at its first use: threads come and go by the thousands, and most leave no
  // sample. A thread or process that shares a row gets its own when it turns out to be no short-lived one.
  model::ThreadId thread_row(std::int32_t pid, std::int32_t tid);
  // A row for a thread of a process that is not recorded, such as one that wakes ours.
  model::ThreadId foreign_thread_row(std::int32_t pid, std::int32_t tid);
  // Books on the thread's row what has come to its sums since the last time. `times` and `cpu_ns` are those
  // of its whole life inside the recording. What was added, of the waits that were not walked.
  struct Unwalked {
    std::uint64_t waits = 0, ns = 0;
  };
  Unwalked book_times(const sources::ThreadWaitTime& times);
  void book_cpu(std::int32_t tid, std::uint64_t cpu_ns);
  std::optional<std::int32_t> pid_of(std::int32_t tid) const;

  // A thread ended whose process the walker knew. If the process's own exit event was lost, only this makes
  // the walker forget it.
  void walked_thread_ended(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns);

  // Ended processes and threads are kept for late events; the caller removes them when none can come any
  // more. The cost is proportional to those that ended since.
  void forget_ended(std::uint64_t before_ns);
  // The processes removed since the last call.
  std::vector<std::int32_t> take_forgotten() { return std::exchange(forgotten_, {}); }

  RowBook& rows() { return rows_; }
  // For tests: how many processes and threads are remembered, of all kinds.
  std::size_t remembered() const;

 private:
  struct LiveThread {
    std::int32_t pid = 0;
    std::string name;
    std::uint64_t start_ns = 0;
    std::optional<RowBook::ThreadRow> row;
    std::uint64_t events = 0;
    sources::ThreadWaitTime booked;  // its times so far
    std::uint64_t booked_cpu_ns = 0;
  };
  struct LiveProcess {
    std::int32_t parent_pid = 0;
    std::uint64_t start_ns = 0;
    std::string name, executable;
    std::optional<RowBook::ProcessRow> row;
    bool always_own = false;
    std::uint64_t events = 0;
    std::vector<CodeMapping> mappings;  // sorted, not overlapping, executable only
    std::set<std::int32_t> threads;
    std::uint32_t epoch = 1;
    std::uint64_t mappings_version = 0;
    std::uint32_t programs_executed = 0;
    std::uint64_t end_ns = 0;  // 0: it lives
  };
  struct ForeignThread {
    std::int32_t pid = 0;
    RowBook::ThreadRow row;
    std::uint64_t end_ns = 0;  // 0: it lives
  };
  struct ForeignProcess {
    RowBook::ProcessRow row;
    std::size_t threads = 0;  // that have an entry
    bool is_gone = false;     // its first thread has ended
  };

  LiveProcess& add_process(std::int32_t pid, std::int32_t parent_pid, std::uint64_t start_ns);
  ProcessFacts facts_of(std::int32_t pid, const LiveProcess& process) const;
  std::uint64_t age(std::uint64_t start_ns) const { return now_ns_ > start_ns ? now_ns_ - start_ns : 0; }
  const RowBook::ProcessRow& row_of(std::int32_t pid, LiveProcess& process);
  void end_process(LiveProcess& process, std::uint64_t time_ns);
  void forget_process(std::int32_t pid, const LiveProcess& process);
  void forget_foreign(std::int32_t tid);
  void forget_foreign_process(std::unordered_map<std::int32_t, ForeignProcess>::iterator process);
  void add_thread(std::int32_t pid, std::int32_t tid, std::uint64_t start_ns, std::string name);
  void end_thread(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns);
  void end_missing(std::int32_t pid, const std::set<std::int32_t>& there);
  std::map<std::int32_t, LiveProcess>::iterator add_unannounced_process(std::int32_t pid);
  // True: an address that had a meaning has another one now.
  bool insert_mapping(LiveProcess& process, const CodeMapping& mapping);
  std::optional<CodeMapping> code_mapping(std::int32_t pid, const process::MapEntry& entry);
  void publish(std::int32_t pid, LiveProcess& process);

  bool on(const sources::ProcessForked& event);
  bool on(const sources::ProcessExeced& event);
  bool on(const sources::ThreadStarted& event);
  bool on(const sources::ThreadEnded& event);
  bool on(const sources::ThreadNamed& event);
  bool on(const sources::MemoryMapped& event);
  bool on(const sources::Lost&) { return false; }
  bool on(const sources::Throttled&) { return false; }

  model::Profile& profile_;
  RowBook rows_;
  ModuleCatalog& modules_;
  WalkerControl& walker_;
  bool follow_children_;
  std::map<std::int32_t, LiveProcess> processes_;
  std::unordered_map<std::int32_t, LiveThread> threads_;      // by tid; ended ones stay for late events
  std::unordered_map<std::int32_t, ForeignProcess> foreign_;  // by pid
  std::unordered_map<std::int32_t, ForeignThread> foreign_threads_;  // by tid
  struct TracerCode {
    std::int32_t pid;
    std::uint64_t start, end;
  };
  std::vector<TracerCode> tracer_code_;
  std::deque<std::pair<std::uint64_t, std::int32_t>> ended_threads_;    // when, tid
  std::deque<std::pair<std::uint64_t, std::int32_t>> ended_processes_;  // when, pid
  std::deque<std::pair<std::uint64_t, std::int32_t>> ended_foreign_;    // when, tid
  std::deque<std::pair<std::uint64_t, std::int32_t>>
      ended_unannounced_;  // when, pid: the walker alone knows it
  std::vector<std::int32_t> forgotten_;
  std::uint64_t now_ns_ = 0;            // of the newest event
  std::uint64_t mappings_version_ = 0;  // of the newest change, in any process
};

}  // namespace fathom::session
