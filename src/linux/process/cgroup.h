// Which cgroup accounts for a process's memory, and where its files are. Source: cgroups(7), /proc/PID/cgroup
// and /proc/self/mountinfo. Version 1, version 2, and hybrids, where the memory controller may be in either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::process {

// One line of /proc/PID/cgroup: "4:memory:/a/b", and "0::/a/b" for version 2.
struct CgroupMembership {
  int hierarchy = 0;
  std::vector<std::string> controllers;  // empty for version 2
  std::string path;
  bool is_version_2() const { return hierarchy == 0 && controllers.empty(); }
  bool operator==(const CgroupMembership&) const = default;
};
std::vector<CgroupMembership> parse_cgroup(std::string_view text);

// One cgroup file system of /proc/PID/mountinfo. `root` is the cgroup that is seen at the mount point: in a
// container that shares the host's cgroup namespace, its own.
struct CgroupMount {
  int version = 0;
  std::string root, mount_point;
  std::vector<std::string> options;  // of the file system: names the controllers of version 1
  bool operator==(const CgroupMount&) const = default;
};
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);

struct MemoryCgroup {
  int version = 0;        // 1: memory.usage_in_bytes; 2: memory.current
  std::string directory;  // as we can open it
  std::string path;       // as the process sees it
  bool operator==(const MemoryCgroup&) const = default;
};
// nullopt: none is mounted, or it lies outside of our cgroup namespace ("/../..").
std::optional<MemoryCgroup> memory_cgroup(const std::vector<CgroupMembership>& memberships,
                                          const std::vector<CgroupMount>& mounts);
Result<std::optional<MemoryCgroup>> read_memory_cgroup(int pid);
Result<std::vector<CgroupMembership>> read_cgroup(int pid);
// The folder of a process of these memberships in the hierarchy of one version 1 controller, or, without a
// name, of version 2; as we can open it.
std::optional<std::string> cgroup_directory(const std::vector<CgroupMembership>& memberships,
                                            const std::vector<CgroupMount>& mounts,
                                            std::string_view controller);

}  // namespace fathom::process
