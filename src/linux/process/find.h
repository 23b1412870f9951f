// The running processes: by name, and the facts needed about a target. Source: proc(5), namespaces(7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/process/cgroup.h"

namespace fathom::process {

struct ProcessInfo {
  int pid = 0, parent_pid = 0;
  std::string name;        // the main thread's: at most 15 bytes, and the program may change it
  std::string executable;  // path as the target sees it; empty for kernel threads and without permission
  bool executable_deleted = false;     // replaced since it was started
  std::vector<std::string> arguments;  // empty for kernel threads and zombies
  std::uint32_t uid = 0;
  std::uint64_t start_ticks = 0;
  bool operator==(const ProcessInfo&) const = default;
};

Result<ProcessInfo> read_process(int pid);
std::vector<std::string> parse_command_line(std::string_view text);  // NUL after each argument

// Exact: the name, or the last part of the executable's path. "redis" does not find redis-server. A longer
// name than the 15 bytes that the kernel keeps is found through the executable, or through the first argument
// where that is hidden.
bool is_named(const ProcessInfo& process, std::string_view name);
// Every match but ourselves, ascending. None, or several, is for the caller to report.
Result<std::vector<ProcessInfo>> find_by_name(std::string_view name);
// Whether a user who typed `text` may have meant this process: part of its name or of its executable's,
// ignoring case. Only for lists of candidates.
bool is_named_like(const ProcessInfo& process, std::string_view text);
// Of a name that no process has: kNotFound, with the processes that are named like it, the first ones of many.
Error no_process_named(std::string_view name);
// Why the files of this process in /proc cannot be read: it does not exist (kNotFound), it is a zombie
// (kNotFound), or it belongs to another user (kPermission).
Error unreadable_process(int pid);
// "pid 12 (alice): /usr/bin/redis-server *:6379", for lists of candidates. At most `width` bytes.
std::string describe(const ProcessInfo& process, std::size_t width = 100);

// Whether executing this file gives rights that the caller may not have: set-user-ID, set-group-ID or file capabilities
// (capabilities(7)). The kernel gives none where an ordinary user traces the process (execve(2)).
bool gives_rights(const std::string& program);

// The numbers in /proc/PID/ns; 0 if hidden.
struct Namespaces {
  std::uint64_t pid = 0, mount = 0, user = 0, network = 0, cgroup = 0;
  bool operator==(const Namespaces&) const = default;
};
Namespaces read_namespaces(int pid);
std::optional<std::uint64_t> parse_namespace(std::string_view link);  // "pid:[4026531836]"

// What container a process seems to be in, from the names that container engines give to cgroups.
struct Container {
  std::string runtime;  // "docker", "podman", "containerd", "cri-o", "kubernetes", "lxc", "nspawn"
  std::string id;
  bool operator==(const Container&) const = default;
};
std::optional<Container> guess_container(const std::vector<CgroupMembership>& memberships);

}  // namespace fathom::process
