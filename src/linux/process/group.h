// A control group as a target: the processes that are in it, now and later. Found by its path, by a unit of systemd or by a
// container, whose engines give their groups names. Source: cgroups(7), systemd.unit(5), the state files of docker, podman
// and containerd.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/process/cgroup.h"
#include "linux/process/container_names.h"

namespace fathom::process {

struct Group {
  std::string
      title;  // "redis.service (unit)", "web (container of docker, 0123456789ab)", "/a/b (control group)"
  std::string folder;       // as we can open it
  bool is_machine = false;  // no group, but all that runs here
};

// Where to search for groups. read_groups() reads this machine's; tests write it down.
struct GroupView {
  std::vector<std::vector<CgroupMembership>> memberships;  // of each process
  std::vector<CgroupMount> mounts;
  std::vector<ContainerName> containers;
};
GroupView read_groups();

// A folder below a cgroup file system, or a path as /proc/PID/cgroup has it. kNotFound where there is none.
Result<Group> group_at(const GroupView& view, std::string_view path);
// "redis.service", "redis", "system.slice". kNotFound with units that are named like it.
Result<Group> group_of_unit(const GroupView& view, std::string_view name);
// By name, by id, or by the beginning of an id that only one has. kNotFound with those that there are.
Result<Group> group_of_container(const GroupView& view, std::string_view name);

// All programs that run here; the kernel's own threads are none.
Group whole_machine();

// The processes in it and in the groups below it, ascending, without this one. Empty: there are none, or it is gone.
std::vector<int> members_of(const Group& group);

}  // namespace fathom::process
