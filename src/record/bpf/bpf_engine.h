// Engine "bpf": samples CPUs and walks stacks in the kernel. Loads the event programs, owns their maps, and
// turns what they send into events. Everything it puts into the kernel hangs on file descriptors of this
// process: when it dies, however it dies, nothing stays behind. Needs CAP_BPF and CAP_PERFMON (or root). One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/abi/heap_probe_events.h"
#include "base/abi/mapping_events.h"
#include "base/abi/off_cpu_events.h"
#include "base/abi/probe_accounts.h"
#include "base/fd.h"
#include "base/result.h"
#include "linux/events.h"
#include "record/bpf/array_window.h"
#include "record/bpf/table_space.h"

struct fathom_bpf;
struct bpf_link;
struct ring_buffer;

namespace fathom::sources {

// Which build of the programs is loaded: that for this kernel, or, for tests, always that for kernels before 5.15.
enum class BpfPrograms : std::uint8_t { kForThisKernel, kBeforeLinux515 };

struct BpfOptions {
  BpfPrograms programs = BpfPrograms::kForThisKernel;
  std::uint32_t frequency_hz = 999;
  std::string event = "cpu-clock";  // or "cycles", where the machine has a counter for it
  bool follow_children = true;
  bool cpu = true;            // sample CPUs
  bool off_cpu = true;        // book every switch, and walk the stacks of waits
  bool mappings = false;      // system calls that take and give back address space
  bool probes = false;        // calls of functions, by add_probe()
  bool copies_stacks = true;  // where mappings are not known yet; without it such a walk stays as it ended
  bool heap_probes = false;   // the targets' own probes of their heap, by add_heap_probes()
  std::uint32_t probed_calls_per_second = 20'000;  // are walked and timed; what comes beyond is counted
  // Waits walked per second, of one thread and on one CPU; above it, one in so many is walked, and on a CPU
  // with four times as many waits or more a quarter of it (base/abi/walk_budget.h). A low sampling rate also
  // lowers this: at 99 Hz a loaded node spent 1.5 % of a CPU on walking ten times as many waits as there were
  // samples.
  std::uint32_t thread_walks_per_second() const { return std::clamp(frequency_hz, 100u, 500u); }
  std::uint32_t cpu_walks_per_second() const { return std::clamp(2 * frequency_hz, 400u, 4000u); }
  std::uint64_t waker_threshold_ns = 1'000'000;  // waits at least so long have their waker's stack walked
  std::uint32_t row_capacity = 4u << 20;         // 4 bytes each, locked kernel memory
  std::uint32_t ring_bytes = 0;                  // of each ring, a power of two; 0: as the two below say
  // A second of samples, or of walked waits, each with a stack of 120 frames that was not seen before, which no
  // program comes near; at most 8 MiB.
  std::uint32_t sample_ring_bytes(std::size_t cpus) const;
  std::uint32_t wait_ring_bytes(std::size_t cpus) const;
};

// A breakpoint of a probe.
struct ProbePoint {
  std::string path;                       // of the file, as this process opens it
  std::uint64_t offset = 0;               // in the file
  bool entry = true;                      // else an end
  bool returns = false;                   // an end at which the result is known
  std::optional<std::uint8_t> condition;  // of a jump that may not be taken
  std::optional<std::int32_t> pid;        // in this process alone; else in all that run the file
  // Of a static probe: the 16 bits of the file that count who watches, and where its value is.
  std::optional<std::uint64_t> semaphore;
  std::optional<probe_value> value;
};

// A place at which a process reports its heap events.
struct HeapProbePoint {
  std::string path;          // of the file, as this process opens it
  std::uint64_t offset = 0;  // in the file
  std::optional<std::uint64_t> semaphore;
  bool frees = false;
  probe_value values[HEAP_PROBE_VALUES] = {};  // of a free: the first one
};

struct ProbeReading {
  probe_key key;
  probe_account account;
};

class BpfEngine {
 public:
  // Loads and verifies; nothing runs yet. kPermission or kUnsupported with a remedy when this user or kernel
  // cannot. Before Linux 5.15 probes are kUnsupported, and add_heap_probes() is.
  static Result<std::unique_ptr<BpfEngine>> load(const BpfOptions& options);
  ~BpfEngine();

  // Attaches: one timer event per CPU that is online. `output_fd(cpu)` is the side-band event of that CPU,
  // whose ring takes the records of a throttled timer; -1 for none.
  Result<> start(const std::function<int(int cpu)>& output_fd);
  // A CPU that was switched on or off since start(). The kernel has dropped the events of one that was
  // switched off.
  Result<> add_cpu(int cpu, const std::function<int(int cpu)>& output_fd);
  void remove_cpu(int cpu);
  // Does what start() and a CPU that comes later need rights for, on one CPU, and undoes it. An error is that of
  // start(). Before anything is tracked.
  Result<> rehearse();
  // Detaches; what is in the rings can still be drained.
  void stop();

  // The tables of modules and the mappings of processes. A process is recorded from its first set_mappings
  // on, and its children with it.
  TableSpace& tables() { return *tables_; }
  // Records a process from its next exec on: its samples end in WALK_NO_TABLE until its mappings are set.
  void track_from_exec(std::int32_t pid);
  void forget(std::int32_t pid);
  // From now on the waits of parked threads of this process set Waited::lock_key, the word `distance` bytes
  // from the futex word; until it executes another program, or is forgotten.
  void set_key_distance(std::int32_t pid, std::int32_t distance);
  // From now on this process gets a SIGSTOP with each program that it executes, before its first instruction;
  // 0: no process does. The caller must check execs_held() often and resume the process.
  void hold_execs(std::int32_t pid);
  std::uint64_t execs_held() const;

  // Enters a thread that was there before the recording: it runs or waits since `since_ns`. A thread that the
  // programs have seen meanwhile is left as it is.
  void enter_thread(std::int32_t tid, const thread_account& account);
  // The account of a live thread; nullopt: none, or waiting is not recorded.
  std::optional<thread_account> account(std::int32_t tid) const;

  // For epoll: readable when the ring of samples is filling up. Drain it at least ten times a second anyway.
  int ring_fd() const;
  // Appends StackSeen, StackSample (whose pid is 0: it is that of the stack), Waited, ThreadCpuTime,
  // ThreadWaitTime and Lost.
  Result<> drain(std::vector<Event>& out);

  // Summed over CPUs, since start().
  cpu_counters counters() const;
  struct SwitchCounters {
    std::uint64_t switches = 0, walks = 0, walk_ns = 0, run_ns = 0, lost_ring_full = 0, lost_accounts = 0,
                  lost_faults = 0, untold_switches = 0;
  };
  SwitchCounters switch_counters() const;
  // Sets the breakpoints of one more probe, whose number is that of those before it; with options.probes.
  Result<> add_probe(const probe_wanted& wanted, const std::vector<ProbePoint>& points);
  // All accounts, of what has been since start().
  std::vector<ProbeReading> read_probes() const;
  probe_counters probe_sums() const;
  // Sets breakpoints at these places for this process alone, or none of them; with options.heap_probes. Their hits are
  // HeapProbed events. Again, for libraries that it has loaded since.
  Result<> add_heap_probes(std::int32_t pid, const std::vector<HeapProbePoint>& points);
  void remove_heap_probes(std::int32_t pid);
  heap_probe_counters heap_probe_sums(std::int32_t pid) const;
  // Memory calls for which the ring had no room.
  std::uint64_t memory_calls_lost() const;
  // Whether this kernel has what probes need; kUnsupported: from which kernel on.
  Result<> has_probes() const;
  std::uint64_t kernel_memory_bytes() const { return kernel_memory_bytes_; }

 private:
  BpfEngine() = default;
  int open_programs();
  Result<> load_programs();
  Result<> start_on(const std::vector<int>& cpus, const std::function<int(int cpu)>& output_fd);
  Result<> open_event(int cpu, const std::function<int(int cpu)>& output_fd);
  Result<> open_fault_events(int cpu);
  void watch_results();

  BpfOptions options_;
  bool older_ = false;  // the programs are those for kernels before 5.15
  fathom_bpf* skeleton_ = nullptr;
  ring_buffer* rings_ = nullptr;
  struct CpuEvents {
    std::vector<Fd> events;
    std::vector<bpf_link*> links;
  };
  std::map<int, CpuEvents> cpu_events_;  // by CPU
  std::vector<void*> links_;             // of all else
  std::uint32_t probes_ = 0;
  std::vector<probe_value> probe_values_;
  std::map<std::int32_t, std::vector<bpf_link*>> heap_links_;  // by pid
  std::map<std::int32_t, std::uint32_t> heap_rounds_;          // by pid: how often they were removed
  std::uint64_t kernel_memory_bytes_ = 0;
  std::unique_ptr<TableSpace> tables_;
  mutable std::optional<ArrayPieces>
      accounts_;  // ACCOUNTS of them, shared with the programs; none without off_cpu, and with the older programs
  std::vector<Event>* drained_ = nullptr;
  bpf_link* results_ = nullptr;  // the program at the end of system calls, while it is needed
  bool results_refused_ = false;
  std::uint64_t newest_transfer_ns_ = 0;  // end of the newest wait in a call that has a result

  static int on_event(void* self, void* data, std::size_t size);
  void size_maps();
  Result<std::uint32_t> add_probe_values(std::span<const probe_value> values);
  void remove_all_heap_probes();
  void enter_in_table(std::uint32_t tid, thread_account account);
  std::optional<thread_account> account_in_table(std::uint32_t tid) const;
  thread_account* place_of(std::uint32_t tid) const;  // null: there is none
};

}  // namespace fathom::sources
