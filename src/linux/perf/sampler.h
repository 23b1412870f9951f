// The engine "perf": CPU samples with a copy of the top of the stack, for users without privileges
// (perf_event_paranoid <= 2) and their own processes. Events are task-attached, as a whole CPU may not be
// watched: one for each thread and CPU, since an event that is inherited by new threads can only have a ring when it is bound to a
// CPU. All events of a CPU write to one ring. What it costs, measured: 10 us per sample for the interrupt, 2
// to 4 us for the copy, and the bytes: stack_bytes times frequency for each busy CPU.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/events.h"
#include "linux/perf/ring_set.h"

namespace fathom::sources {

struct PerfSamplerOptions {
  std::uint32_t frequency_hz = 999;
  // How much of the stack is copied. A walk that needs more ends early (WALK_STACK_CUT): programs with large
  // frames, such as asynchronous Rust, need all that there is. A multiple of 8.
  std::uint32_t stack_bytes = 32 * 1024;
  // Requested size per CPU; less if the locked-memory limit requires it, then with a larger risk of losing
  // samples.
  std::size_t ring_bytes = 4 << 20;
  // For a target that we launch: it waits, forked, and sampling begins with its exec.
  bool start_on_exec = false;
  // A record of each time that a thread leaves or enters a CPU: 1.6 us more for each switch.
  bool switches = false;
  std::vector<int> cpus;  // to sample; none: those that are online
};

class PerfSampler {
 public:
  static constexpr std::uint32_t kMaxStackBytes = 65528;  // a record's size has 16 bits

  // All current threads of `pid`, and the threads and processes that they start later, with their mappings
  // and names. Raises the soft limit of open files as far as needed. A thread that is started by another one
  // in the microseconds between the opening of that one's first and last event is sampled on some CPUs only.
  static Result<PerfSampler> open(int pid, const PerfSamplerOptions& options);

  std::vector<int> fds() const { return rings_.fds(); }  // for epoll: readable when a ring is 1/8 full
  // Appends CopiedStackSample, ThreadSwitched and the side band of the target, in time order. Call it some
  // times a second even when no descriptor is ready, and often under load: at 999 Hz and 32 KiB a busy CPU
  // fills 1 MiB in 32 ms.
  void drain(std::vector<Event>& out);
  // A CPU that was switched on since open(), and the threads that it may run. Nothing is to be done for one that was
  // switched off, and on again: the events of threads survive that.
  Result<> add_cpu(int cpu, std::span<const int> tids);
  // No sample after this one; what is in the rings may still be drained.
  void stop();

  // False: the kernel allows samples in user mode only (perf_event_paranoid 2). Time inside system calls is
  // missing then, from the stacks and from the counts.
  bool sees_kernel() const { return sees_kernel_; }
  std::uint64_t lost() const { return rings_.lost(); }
  std::uint64_t malformed() const { return rings_.malformed(); }
  std::size_t ring_memory_bytes() const { return rings_.memory_bytes(); }

 private:
  PerfSampler(RingSet rings, const perf_event_attr& attributes, bool sees_kernel)
      : rings_(std::move(rings)), attributes_(attributes), sees_kernel_(sees_kernel) {}
  Result<> add_threads(int pid);
  Result<> add_thread(int tid);
  Result<> add_event(int tid, int cpu, const perf_event_attr& attributes);

  RingSet rings_;
  perf_event_attr attributes_;
  std::vector<Fd> events_;
  std::vector<Event> early_;  // arrived while we were still opening
  bool sees_kernel_;
};

}  // namespace fathom::sources
