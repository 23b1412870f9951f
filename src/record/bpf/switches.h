// Where threads wait: the programs at context switches, wake-ups, page faults and the ends of system calls
// (record/bpf_programs/off_cpu.h), and the account that they keep of every thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/abi/off_cpu_events.h"
#include "linux/events.h"
#include "record/bpf/array_window.h"
#include "record/bpf/cpu_events.h"
#include "record/bpf/part.h"

namespace fathom::sources {

struct SwitchOptions {
  bool older_programs =
      false;  // those for kernels before 5.15, which cannot share the accounts with user space
  bool walks_when_over =
      true;  // where the kernel has a tracepoint for it; else all waits are walked when they begin
  std::uint32_t thread_walks_per_second = 0, cpu_walks_per_second = 0;
  std::uint64_t waker_threshold_ns = 0;
};

class Switches final : public BpfPart {
 public:
  explicit Switches(const SwitchOptions& options) : options_(options) {}

  void configure(fathom_bpf& skeleton) override;
  Result<> attach() override;
  Result<> add_cpu(int cpu, int output_fd) override;
  void remove_cpu(int cpu) override { fault_events_.remove(cpu); }
  void detach() override;
  void forget(std::int32_t pid) override;
  std::uint64_t kernel_memory_bytes() const override;

  // Enters a thread that was there before the recording: it runs or waits since the time in `account`. A thread that the
  // programs have seen meanwhile is left as it is.
  void enter_thread(std::int32_t tid, const thread_account& account);
  // The account of a live thread; nullopt: none.
  std::optional<thread_account> account(std::int32_t tid) const;
  // From now on the waits of parked threads of this process set Waited::lock_key, the word `distance` bytes
  // from the futex word; until it executes another program, or is forgotten.
  void set_key_distance(std::int32_t pid, std::int32_t distance);
  // What came from the rings; results of calls are watched while there are waits in calls that have one.
  void saw(const Waited& wait);
  void watch_results();

  struct Counters {
    std::uint64_t switches = 0, walks = 0, walk_ns = 0, run_ns = 0, lost_ring_full = 0, lost_accounts = 0,
                  lost_faults = 0, untold_switches = 0;
  };
  // Summed over CPUs, since the start.
  Counters counters() const;

 private:
  void enter_in_table(std::uint32_t tid, thread_account account);
  std::optional<thread_account> account_in_table(std::uint32_t tid) const;
  thread_account* place_of(std::uint32_t tid) const;  // null: there is none

  SwitchOptions options_;
  fathom_bpf* skeleton_ = nullptr;
  bool walks_when_over_ = false;  // the stack of a wait is walked when it is over
  std::vector<BpfLink> links_;
  CpuEvents fault_events_;
  BpfLink results_;  // the program at the end of system calls, while it is needed
  bool results_refused_ = false;
  std::uint64_t newest_transfer_ns_ = 0;  // end of the newest wait in a call that has a result
  mutable std::optional<ArrayPieces>
      accounts_;  // shared with the programs, once asked for; none with the older ones
};

}  // namespace fathom::sources
