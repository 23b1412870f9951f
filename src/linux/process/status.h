// Identity and memory of a process. Source: proc(5), /proc/PID/status and /proc/PID/stat.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::process {

// /proc/PID/status. Lines that are missing (kernel threads have no memory) leave zeros.
struct Status {
  std::string name;  // the main thread's; at most 15 bytes, as set by the program itself
  char state = '?';
  std::int32_t pid = 0, parent_pid = 0, tracer_pid = 0;
  std::uint32_t uid = 0, effective_uid = 0;
  std::vector<std::int32_t> namespace_pids;  // outermost first: the last one is what the process calls itself
  std::uint32_t threads = 0;
  std::int32_t seccomp = 0;  // 0 none, 1 strict, 2 filter
  bool no_new_privileges = false;
  std::uint64_t effective_capabilities = 0;
  // In bytes. rss_anon + rss_file + rss_shmem is the resident set. The kernel keeps these per CPU and adds up
  // now and then: they may be wrong by some pages for each thread.
  std::uint64_t rss_anon = 0, rss_file = 0, rss_shmem = 0, swap = 0, page_tables = 0, rss_peak = 0,
                virtual_size = 0;
  std::uint64_t huge_files = 0;  // resident on explicit huge pages (hugetlbfs), not in the resident set
  bool killed = false;           // SIGKILL was sent to it
  bool operator==(const Status&) const = default;
};
Result<Status> parse_status(std::string_view text);
Result<Status> read_status(int pid);

// /proc/PID/stat, or /proc/PID/task/TID/stat for one thread.
struct Stat {
  std::int32_t pid = 0, parent_pid = 0;
  std::string name;
  char state = '?';
  bool kernel_thread = false;
  bool exiting = false;
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t user_ticks = 0, system_ticks = 0;  // ticks_per_second() of them make a second
  std::uint64_t start_ticks = 0;                   // since boot, time asleep included (CLOCK_BOOTTIME)
  bool operator==(const Stat&) const = default;
};
Result<Stat> parse_stat(std::string_view text);
Result<Stat> read_stat(int pid);
// Whether it has ended or got SIGKILL: the kernel frees its memory while it can still be read. Also true if
// it is gone.
bool is_ending(int pid);
// Whether our numbers of processes are those that the kernel prints in its log: in a pid namespace of our own the same
// number there is another process.
bool has_numbers_of_the_kernel();
Result<Stat> read_thread_stat(int pid, int tid);
std::uint64_t ticks_per_second();

// When the process started, on CLOCK_MONOTONIC; 0 if it started before the clock did (in a suspended
// machine's past). pid and start_ticks together identify a process permanently, while a pid alone is reused.
std::uint64_t start_time_ns(const Stat& stat);

struct MemoryUse {  // bytes, and counts of faults since the process started
  std::uint64_t rss_anon = 0, rss_file = 0, rss_shmem = 0, swap = 0, page_tables = 0;
  std::uint64_t major_faults = 0, minor_faults = 0;
  bool operator==(const MemoryUse&) const = default;
};
Result<MemoryUse> read_memory(int pid);

}  // namespace fathom::process
