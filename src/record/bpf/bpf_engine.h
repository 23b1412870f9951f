// Engine "bpf": samples CPUs and walks stacks in the kernel. Loads the event programs, owns the maps that all of them share, and
// turns what they send into events; each group of programs is a part of its own (part.h). Everything it puts into the kernel hangs
// on file descriptors of this process: when it dies, however it dies, nothing stays behind. Needs CAP_BPF and CAP_PERFMON (or
// root). One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "linux/events.h"
#include "record/bpf/bpf_options.h"
#include "record/bpf/function_probes.h"
#include "record/bpf/heap_probes.h"
#include "record/bpf/kernel_events.h"
#include "record/bpf/part.h"
#include "record/bpf/skeleton.h"
#include "record/bpf/system_calls.h"
#include "record/bpf/table_space.h"

struct ring_buffer;

namespace fathom::sources {

class CpuSampling;
class MemoryCalls;
class Switches;

class BpfEngine {
 public:
  // Loads and verifies; nothing runs yet. kPermission or kUnsupported with a remedy when this user or kernel
  // cannot. Before Linux 5.15 probes are kUnsupported.
  static Result<std::unique_ptr<BpfEngine>> load(const BpfOptions& options);
  ~BpfEngine();

  // Attaches, on each CPU that is online. `output_fd(cpu)` is the side-band event of that CPU,
  // whose ring takes the records of a throttled timer; -1 for none.
  Result<> start(const std::function<int(int cpu)>& output_fd);
  // A CPU that was switched on or off since start(). The kernel has dropped the events of one that was
  // switched off.
  Result<> add_cpu(int cpu, const std::function<int(int cpu)>& output_fd);
  void remove_cpu(int cpu);
  // Does what start() and a CPU that comes later need rights for, on one CPU, and undoes it. An error is that of
  // start(). Before anything is tracked.
  Result<> rehearse();
  // From here on nothing is counted; what is in the rings can still be drained.
  void stop();
  // After stop(): takes out of the kernel what needs long for that.
  void release();

  // The tables of modules and the mappings of processes. A process is recorded from its first set_mappings
  // on, and its children with it.
  TableSpace& tables() { return *tables_; }
  // Records a process from its next exec on: its samples end in WALK_NO_TABLE until its mappings are set.
  void track_from_exec(std::int32_t pid);
  void forget(std::int32_t pid);
  // From now on this process gets a SIGSTOP with each program that it executes, before its first instruction;
  // 0: no process does. The caller must check execs_held() often and resume the process.
  void hold_execs(std::int32_t pid);
  std::uint64_t execs_held() const;

  // For epoll: readable when the ring of samples is filling up. Drain it at least ten times a second anyway.
  int ring_fd() const;
  // Appends StackSeen, StackSample (whose pid is 0: it is that of the stack), Waited, ThreadCpuTime,
  // ThreadWaitTime and Lost.
  Result<> drain(std::vector<Event>& out);

  // The parts; null: not wanted, or not on this kernel.
  const CpuSampling* cpu_sampling() const { return cpu_sampling_; }
  CpuSampling* cpu_sampling() { return cpu_sampling_; }
  Switches* switches() { return switches_; }
  const Switches* switches() const { return switches_; }
  const MemoryCalls* memory_calls() const { return memory_calls_; }
  FunctionProbes* function_probes() { return function_probes_; }
  HeapProbes* heap_probes() { return heap_probes_; }
  KernelEvents* kernel_events() { return kernel_events_; }
  SystemCalls* system_calls() { return system_calls_; }

  // Whether this kernel has what probes need; kUnsupported: from which kernel on.
  Result<> has_probes() const;
  std::uint64_t kernel_memory_bytes() const { return kernel_memory_bytes_; }

 private:
  BpfEngine() = default;
  template <class Part, class... Arguments>
  Part* add_part(Arguments&&... arguments);
  void make_parts(const BpfOptions& options, bool older);
  void configure(const BpfOptions& options, fathom_bpf& skeleton);
  Result<> open_rings();
  Result<> start_on(const std::vector<int>& cpus, const std::function<int(int cpu)>& output_fd);
  static int on_event(void* self, void* data, std::size_t size);

  bool older_ = false;  // the programs are those for kernels before 5.15
  Skeleton skeleton_;
  struct FreeRings {
    void operator()(ring_buffer* rings) const;
  };
  std::unique_ptr<ring_buffer, FreeRings> rings_;
  std::unique_ptr<TableSpace> tables_;
  // Goes before the programs. Detached in this order: breakpoints first, as they end what their programs do.
  std::vector<std::unique_ptr<BpfPart>> parts_;
  CpuSampling* cpu_sampling_ = nullptr;
  Switches* switches_ = nullptr;
  MemoryCalls* memory_calls_ = nullptr;
  FunctionProbes* function_probes_ = nullptr;
  HeapProbes* heap_probes_ = nullptr;
  KernelEvents* kernel_events_ = nullptr;
  SystemCalls* system_calls_ = nullptr;
  std::vector<BpfLink> links_;  // of the programs that follow processes
  std::vector<Event>* drained_ = nullptr;
  std::uint64_t kernel_memory_bytes_ = 0;
};

}  // namespace fathom::sources
