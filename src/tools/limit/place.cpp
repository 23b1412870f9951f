#include "tools/limit/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "linux/memory/memory_sampler.h"
#include "linux/process/fields.h"

namespace fathom::limit {
namespace {

constexpr const char* kKeeper = "/fathom-self";

// "cpuset cpu io memory pids"
bool lists_memory(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return false;
  std::string_view rest = *text, line;
  while (process::next_line(rest, line))
    for (auto word = process::next_field(line); !word.empty(); word = process::next_field(line))
      if (word == "memory") return true;
  return false;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? std::string() : path.substr(0, slash);
}

// All processes of one group into another.
Result<> move_all(const std::string& from, const std::string& to) {
  const auto text = read_file(from + "/cgroup.procs");
  std::string_view rest = text ? std::string_view(*text) : std::string_view(), line;
  while (process::next_line(rest, line))
    if (auto moved = write_control(to + "/cgroup.procs", std::string(line)); !moved) return moved;
  return {};
}

Result<Place> place_version_2(const Surroundings& around, bool& needs_scope) {
  const process::MemoryCgroup& own = *around.own;
  const std::string base = own.path == "/" ? "" : own.path;
  if (!lists_memory(own.directory + "/cgroup.controllers") && own.path == "/")
    return fail(
        ErrorKind::kUnsupported,
        own.directory + ": control groups of version 2 have no memory controller here",
        "cat /proc/cgroups: it is off, or belongs to version 1; cgroup_enable=memory on the kernel's command line");
  // The root may hold processes and give controllers to its children; what is delegated to us is ours to arrange.
  if (own.path == "/" && !around.systemd)
    return Place{2, own.directory, base, "", !lists_memory(own.directory + "/cgroup.subtree_control")};
  if (around.in_scope) {
    if (!lists_memory(own.directory + "/cgroup.controllers"))
      return fail(ErrorKind::kUnsupported, "systemd delegated no memory controller to " + own.path,
                  "Delegate=memory for the user manager (systemctl edit user@.service), or run as root");
    return Place{2, own.directory, base, own.directory + kKeeper, true};
  }
  if (around.systemd) {
    needs_scope = true;
    return fail(ErrorKind::kUnsupported, "systemd runs the control groups of this machine",
                "systemd-run, which is not installed");
  }
  // A group next to our own, if its parent already delegates memory to its children.
  const std::string above = parent_of(own.directory);
  if (!above.empty() && lists_memory(above + "/cgroup.subtree_control"))
    return Place{2, above, parent_of(base), "", false};
  return fail(
      ErrorKind::kUnsupported,
      fmt::format(
          "{}: no group with a memory limit can be made here: the group holds processes, and its parent gives no memory controller to its children",
          own.path),
      "run it in a group that is delegated to this user, or as root outside of any container");
}

}  // namespace

Surroundings look_around(bool in_scope) {
  Surroundings around;
  if (auto own = process::read_memory_cgroup(::getpid()); own && *own) around.own = std::move(**own);
  struct stat status {};
  around.systemd = ::stat("/run/systemd/system", &status) == 0 && S_ISDIR(status.st_mode);  // sd_booted(3)
  around.in_scope = in_scope;
  return around;
}

Result<Place> find_place(const Surroundings& around, bool& needs_scope) {
  needs_scope = false;
  if (!around.own)
    return fail(ErrorKind::kUnsupported, "no control groups that count memory are mounted here",
                "mount -t cgroup2 none /sys/fs/cgroup, or cgroup_enable=memory on the kernel's command line");
  if (around.own->version == 2) return place_version_2(around, needs_scope);
  return Place{1, around.own->directory, around.own->path == "/" ? "" : around.own->path, "", false};
}

Result<MemoryGroup> make_group(const Place& place, const std::string& name, Fd& in_use) {
  in_use = Fd(::open(place.parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in_use || ::flock(in_use.get(), LOCK_SH) != 0) return system_error(place.parent, errno);
  if (!place.keep_self.empty()) {
    if (::mkdir(place.keep_self.c_str(), 0755) != 0 && errno != EEXIST)
      return system_error(place.keep_self, errno);
    if (auto moved = move_all(place.parent, place.keep_self); !moved)
      return tl::unexpected<Error>(moved.error());
  }
  if (place.enable)
    if (auto enabled = write_control(place.parent + "/cgroup.subtree_control", "+memory"); !enabled)
      return tl::unexpected<Error>(enabled.error());
  MemoryGroup group(place.version, place.parent + "/" + name);
  if (auto created = group.create(); !created) {
    Error error = created.error();
    if (error.kind == ErrorKind::kPermission || error.kind == ErrorKind::kSystem)
      error.remedy = place.version == 1 ? "run as root: control groups of version 1 are root's"
                                        : "run as root, or in a group that is delegated to this user";
    return tl::unexpected<Error>(std::move(error));
  }
  return group;
}

void leave_place(const Place& place, Fd in_use) {
  if (place.enable && in_use && ::flock(in_use.get(), LOCK_EX | LOCK_NB) == 0)
    (void)write_control(place.parent + "/cgroup.subtree_control", "-memory").has_value();
  if (place.keep_self.empty()) return;
  (void)move_all(place.keep_self, place.parent).has_value();
  ::rmdir(place.keep_self.c_str());
}

std::optional<std::uint64_t> lower_limit_above(int version, const std::string& directory,
                                               std::uint64_t bytes) {
  std::optional<std::uint64_t> lowest;
  for (std::string folder = parent_of(directory); !folder.empty(); folder = parent_of(folder)) {
    const auto text = read_file(folder + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!text) {
      // The root of version 2 has none, and what is above the mount point is no group.
      if (::access((folder + "/cgroup.procs").c_str(), F_OK) != 0) break;
      continue;
    }
    if (const auto limit = sources::parse_memory_limit(*text); limit && *limit < lowest.value_or(bytes))
      lowest = *limit;
  }
  return lowest;
}

std::vector<std::string> in_delegated_scope(const std::vector<std::string>& arguments, bool user_manager) {
  std::vector<std::string> line{"systemd-run"};
  if (user_manager) line.emplace_back("--user");
  for (const char* more :
       {"--scope", "--quiet", "--collect", "-p", "Delegate=yes", "-p", "MemoryAccounting=yes", "--"})
    line.emplace_back(more);
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

}  // namespace fathom::limit
