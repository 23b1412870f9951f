// One memory control group: limits set and read back, and what happened inside. Versions 1 and 2 have
// different files with different meanings; this class has one of each fact. Sources: the kernel's
// admin-guide/cgroup-v1/memory.rst and admin-guide/cgroup-v2.rst. All of it works on a folder, so a test
// gives it one of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom::limit {

struct Limits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t swap_bytes = 0;  // in addition to the memory
  std::optional<int> swappiness = {};
};

struct Pressure {
  std::uint64_t some_us = 0, full_us = 0;
  bool operator==(const Pressure&) const = default;
};

// What the group's files say now. nullopt: this kernel, or this version, does not say it.
struct GroupState {
  std::uint64_t usage_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;            // without swap
  std::optional<std::uint64_t> peak_with_swap_bytes;  // of the sum, which is not the sum of the peaks
  std::uint64_t swap_bytes = 0;
  std::optional<std::uint64_t> swap_peak_bytes;
  std::uint64_t limit_hits = 0;  // an allocation met the limit and something had to be reclaimed
  std::uint64_t high_hits = 0;   // the same of memory.high
  std::uint64_t ooms = 0;        // nothing could be reclaimed
  std::uint64_t oom_kills = 0;   // processes killed
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t refaults = 0;  // pages that were needed again soon after they had been reclaimed
  std::optional<Pressure> pressure;
  std::vector<std::pair<std::string, std::uint64_t>>
      parts;  // "anonymous", "files" ...: what it consists of, largest first
  bool operator==(const GroupState&) const = default;
};

class MemoryGroup {
 public:
  // `version` 1 or 2. The folder exists or is made with create().
  MemoryGroup(int version, std::string directory) : version_(version), directory_(std::move(directory)) {}

  int version() const { return version_; }
  const std::string& directory() const { return directory_; }
  std::string file(const char* name) const { return directory_ + "/" + name; }

  Result<> create() const;
  // Sets every limit and reads it back: what the kernel does not confirm is refused in words. `machine_swaps`: there is
  // swap that an unlimited group would use.
  Result<> apply(const Limits& limits, bool machine_swaps) const;
  GroupState read() const;
  // Of the group and of those in it.
  std::vector<int> processes() const;
  // SIGKILL for all of them; those that they start meanwhile are left.
  void end_processes() const;

 private:
  Result<> apply_version_1(const Limits& limits, bool machine_swaps) const;
  Result<> apply_version_2(const Limits& limits, bool machine_swaps) const;
  Result<> set(const char* name, std::uint64_t value) const;
  void read_version_1(GroupState& state) const;
  void read_version_2(GroupState& state) const;
  std::optional<std::uint64_t> number(const char* name) const;

  int version_;
  std::string directory_;
};

// Writes a control file in one call; the error names the file.
Result<> write_control(const std::string& path, const std::string& value);

// Whether /proc/swaps lists any.
bool has_swap(const std::string& proc_swaps);
bool machine_has_swap();

// SIGKILL for those of `pids` that `now_inside` contains too. Checks that after opening pidfds
// (pidfd_open(2)), so a pid that was reused since `pids` was read kills nothing.
void end_if_inside(std::span<const int> pids, const std::function<std::vector<int>()>& now_inside);

// Ends all processes in it (also stopped, frozen and held ones), and removes it and the groups below it. False: it is
// still there after `patience_ms`. Reads and writes only files of the folder; also for a folder that is gone.
bool remove_group(int version, const std::string& directory, int patience_ms);

}  // namespace fathom::limit
