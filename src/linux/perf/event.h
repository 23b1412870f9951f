// perf_event_open(2): opening events, and which CPUs to open them on.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::sources {

// What all our events have in common: CLOCK_MONOTONIC times, and on every record the thread, time and CPU.
// Events that share a ring (PERF_EVENT_IOC_SET_OUTPUT) must agree in the clock, or the kernel refuses: start
// from this one.
perf_event_attr base_attributes();

// `what` is for the message. The error carries the remedy for the common obstacles: perf_event_paranoid, the
// limit of open files, the maximum sampling rate, a machine without hardware counters.
Result<Fd> open_event(const perf_event_attr& attributes, int pid, int cpu, std::string_view what);
// The error of open_event() where perf_event_open() failed with `error_number`.
Error open_event_error(const perf_event_attr& attributes, std::string_view what, int error_number);

// What allows this user the engine bpf, or (`own`) perf events of their own processes, on this kernel and with its settings.
// Where kernel.perf_event_paranoid is above 2, Debian's and Ubuntu's kernels demand CAP_SYS_ADMIN for every event.
std::string remedy_for_rights(bool own);
// The same from values, pure.
struct Rights {
  bool root = false;           // user 0, whatever its capabilities are
  bool filtered = false;       // a seccomp filter stands between us and the kernel
  std::string paranoid = "2";  // kernel.perf_event_paranoid
};
std::string remedy_for_rights(bool own, const Rights& rights);

// Makes `fd` write to the ring of `output_fd`; both are events of the same CPU.
Result<> redirect_output(int fd, int output_fd);

// "0-3,8": what the files under /sys/devices/system/cpu hold. Ascending; empty if it makes no sense.
std::vector<int> parse_cpu_list(std::string_view text);
// Now. Never empty.
std::vector<int> online_cpus();

}  // namespace fathom::sources
