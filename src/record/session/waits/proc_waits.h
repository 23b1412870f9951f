// Where threads wait, without privileges: looks at all threads of the target about 99 times a second through
// /proc. A thread that has not run since the last look costs one small file (its schedstat); one that is
// blocked in something new has its stack copied and walked. With many threads the looks come at longer
// intervals, so that they never take more than a twentieth of one CPU.
//
// Needs ptrace access to the target. What a look finds is booked by sources::WaitBook.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/events.h"
#include "linux/process/blocked_thread.h"
#include "record/proc/wait_book.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/source.h"
#include "record/session/waits/blocked_walk.h"

namespace fathom::session {

class ProcWaits final : public ThreadWaits {
 public:
  // `processes` outlives the waits. `switches`: records of context switches will follow.
  static Result<std::unique_ptr<ProcWaits>> open(const ProcessTable& processes, bool switches);

  int timer_fd() const { return timer_.get(); }  // readable when a scan is due

  void enter(std::int32_t pid, std::uint64_t now_ns, std::vector<sources::Event>& out) override;
  // A child of ours that is not the target yet: not looked at before its exec.
  void expect_exec(std::int32_t pid) { expected_ = pid; }

  // perf's records, in time order, before the round that follows.
  void on(const sources::ProcessForked& event);
  void on(const sources::ProcessExeced& event);
  void on(const sources::ThreadStarted& event);
  void on(const sources::ThreadEnded& event, std::vector<sources::Event>& out);
  void on(const sources::ThreadSwitched& event) { book_.switched(event); }
  void mappings_changed(std::int32_t pid) { walker_.forget(pid); }

  // Scans all threads if due, and returns the waits that are over.
  void round(std::uint64_t now_ns, std::vector<sources::Event>& out);
  void sum(std::uint64_t /*now_ns*/, std::vector<sources::Event>& out) const override { book_.sum(out); }
  void finish(std::uint64_t end_ns, std::vector<sources::Event>& out) override;

  std::vector<std::string> notes() const;
  // What it cost so far.
  std::uint64_t looks() const { return looks_; }
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }

 private:
  struct Thread {
    std::int32_t pid = 0;
    Fd schedstat;
    std::optional<sources::BlockedThreadFile> state;
    bool walk_again = false;  // the last walk met a mapping that was not reported yet
  };
  ProcWaits(const ProcessTable& processes, bool switches, Fd timer)
      : processes_(processes),
        walker_(processes),
        book_(switches),
        switches_(switches),
        timer_(std::move(timer)) {}
  void find_threads(std::uint64_t now_ns);
  bool add(std::int32_t pid, std::int32_t tid, std::uint64_t begin_ns, bool born, bool before);
  void look_at_all(std::vector<sources::Event>& out);
  void look(std::int32_t tid, Thread& thread, std::vector<sources::Event>& out);
  void tell(const sources::StackSeen& stack, std::vector<sources::Event>& out);
  void arm(std::uint64_t at_ns);

  const ProcessTable& processes_;
  BlockedWalker walker_;
  sources::WaitBook book_;
  bool switches_;
  Fd timer_;
  std::int32_t expected_ = 0;
  std::unordered_map<std::int32_t, Thread> threads_;  // by tid
  std::unordered_map<std::int32_t, std::uint64_t>
      births_;                              // by tid: started while we record, not looked at yet
  std::unordered_set<std::uint64_t> told_;  // numbers of stacks
  std::uint64_t next_ns_ = 0;
  std::minstd_rand random_;
  std::uint64_t round_cost_ns_ = 0;  // of late
  std::uint64_t looks_ = 0, rounds_ = 0, cpu_ns_ = 0;
  bool denied_ = false, no_descriptors_ = false, no_slices_ = false;
};

}  // namespace fathom::session
