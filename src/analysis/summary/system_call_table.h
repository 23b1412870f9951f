// System calls of a recording (record --syscalls): per call, per thread and call, by caller, and bytes by file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct SystemCallSums {
  std::uint64_t calls = 0;   // that returned
  std::uint64_t errors = 0;  // of these
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;  // since the recording began
  std::uint64_t bytes = 0;       // that calls which read or write returned
  bool operator==(const SystemCallSums&) const = default;
};

struct SystemCallsFromPath {
  std::vector<std::string> path;  // the callers, innermost first
  SystemCallSums sums;            // of the calls whose stack was walked
};

struct SystemCallOfAll {
  std::string name;  // "futex"
  SystemCallSums sums;
  std::uint64_t walked = 0;                // calls with a known caller; the shares of `paths` are of these
  std::vector<SystemCallsFromPath> paths;  // most time first
};

struct SystemCallOfThread {
  std::string name;
  SystemCallSums sums;
};

struct ThreadSystemCalls {
  std::string thread;  // "123 worker"; empty: threads that were counted together
  std::int32_t pid = 0;
  SystemCallSums sums;
  std::vector<SystemCallOfThread> calls;  // most time first
};

struct FileBytes {
  std::string path;  // or "pipe", "socket" and so on
  SystemCallSums read, written;
};

struct SystemCallTable {
  std::vector<SystemCallOfAll> calls;      // most time first
  std::vector<ThreadSystemCalls> threads;  // most time first
  std::vector<FileBytes> files;            // most bytes first
};

// nullopt: system calls were not counted. Of `selection` the time, the process and the thread count, and the functions by which
// stacks are chosen.
std::optional<SystemCallTable> make_system_call_table(const model::Profile& profile,
                                                      const Selection& selection);

}  // namespace fathom::analysis
