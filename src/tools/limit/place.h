// Where a group of our own can be made. Version 1: below our own group. Version 2 allows no processes in a group whose
// children have controllers, and where systemd runs the tree is its property: the group is then made in a scope that
// systemd delegates to us. Sources: cgroups(7); systemd's CGROUP_DELEGATION.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/process/cgroup.h"
#include "tools/limit/memory_group.h"

namespace fathom::limit {

struct Place {
  int version = 0;
  std::string parent;  // folder in which the group is made
  std::string path;    // of it, as the kernel's records name it
  std::string
      keep_self;  // version 2, delegated: a group below `parent` that we must move to before; else empty
  bool enable = false;  // version 2: the memory controller has to be switched on for children of `parent`
};

struct Surroundings {
  std::optional<process::MemoryCgroup> own;  // of this process
  bool systemd = false;                      // it runs the machine
  bool in_scope = false;                     // we restarted ourselves in a delegated scope
};
Surroundings look_around(bool in_scope);

// kUnsupported, with the remedy: there is no place. `needs_scope` is set where a scope of systemd would be one.
Result<Place> find_place(const Surroundings& surroundings, bool& needs_scope);

// Makes the group: moves us out of the way where that is needed. `name` is one part of a path. Keep `in_use`
// as long as the group: only the last user switches the controller off again, because that removes the limits
// of the others' groups.
Result<MemoryGroup> make_group(const Place& place, const std::string& name, Fd& in_use);
// Undoes make_group(), except for the group itself.
void leave_place(const Place& place, Fd in_use);

// The lowest limit of a group above this folder, if it is lower than `bytes`: then `bytes` means nothing.
std::optional<std::uint64_t> lower_limit_above(int version, const std::string& directory,
                                               std::uint64_t bytes);

// The command line that starts `arguments` in a delegated scope: "systemd-run --scope ... -- ARGUMENTS".
std::vector<std::string> in_delegated_scope(const std::vector<std::string>& arguments, bool user_manager);

}  // namespace fathom::limit
