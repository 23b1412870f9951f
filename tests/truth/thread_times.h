// A thread's measurements of its own time: wall-clock time, and time on a CPU.
//
// The second is perf's task clock, which the kernel starts and stops at each switch. CLOCK_THREAD_CPUTIME_ID
// leaves out the time that the hypervisor took away while the thread had its CPU
// (CONFIG_PARAVIRT_TIME_ACCOUNTING): 30 to 200 us of each short wait for a disk, when the host is busy. From
// inside the virtual machine, the thread did not wait then.
#pragma once
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace fathom::truth {

inline double wall_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of the calling thread, since its first call. Ends the program if perf events are not available.
inline double on_cpu_s() {
  thread_local const int clock = [] {
    perf_event_attr wanted{};
    wanted.size = sizeof(wanted);
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.config = PERF_COUNT_SW_TASK_CLOCK;
    wanted.exclude_kernel = 1;  // needs fewer permissions; this clock still counts time in the kernel
    const long made = syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (made < 0) {
      std::perror("perf's task clock");
      std::exit(1);
    }
    return static_cast<int>(made);
  }();
  std::uint64_t ns = 0;
  if (read(clock, &ns, sizeof(ns)) != sizeof(ns)) std::abort();
  return static_cast<double>(ns) * 1e-9;
}

// Time off the CPU during `work`.
template <class Work>
double off_cpu_s(const Work& work) {
  const double wall = wall_s(), on_cpu = on_cpu_s();
  work();
  const double passed_s = wall_s() - wall;
  return passed_s - (on_cpu_s() - on_cpu);
}

}  // namespace fathom::truth
