#include "linux/process/find.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/accounts.h"
#include "base/files.h"
#include "base/parse.h"
#include "base/text.h"
#include "linux/process/command_line.h"
#include "linux/process/directory.h"
#include "linux/process/environment.h"
#include "linux/process/fields.h"
#include "linux/process/maps.h"
#include "linux/process/status.h"
#include "linux/process/tracing_rights.h"

namespace fathom::process {
namespace {

constexpr std::size_t kNameLimit = 15;  // TASK_COMM_LEN - 1

std::string user_name(std::uint32_t uid) {
  auto account = account_of(uid);
  return account ? std::move(account->name) : fmt::format("user {}", uid);
}

bool is_hex_id(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// One part of a cgroup path, such as "docker-<id>.scope".
std::optional<Container> container_of(std::string_view part, std::string_view parent, bool in_kubernetes) {
  struct Scope {
    std::string_view prefix, runtime;
  };
  static constexpr Scope kScopes[] = {
      {"docker-", "docker"}, {"libpod-", "podman"}, {"cri-containerd-", "containerd"}, {"crio-", "cri-o"}};
  std::string_view name = part;
  if (name.ends_with(".scope")) name.remove_suffix(6);
  for (const Scope& scope : kScopes) {
    if (name.starts_with(scope.prefix) && is_hex_id(name.substr(scope.prefix.size())))
      return Container{std::string(scope.runtime), std::string(name.substr(scope.prefix.size()))};
  }
  if (is_hex_id(part)) {
    if (in_kubernetes) return Container{"kubernetes", std::string(part)};
    if (parent == "docker") return Container{"docker", std::string(part)};
    if (parent == "libpod_parent") return Container{"podman", std::string(part)};
    if (parent == "default" || parent == "k8s.io") return Container{"containerd", std::string(part)};
  }
  if (parent == "lxc" && !part.empty()) return Container{"lxc", std::string(part)};
  if (part.starts_with("lxc.payload.")) return Container{"lxc", std::string(part.substr(12))};
  if (parent == "machine.slice" && part.starts_with("machine-") && part.ends_with(".scope"))
    return Container{"nspawn", std::string(name.substr(8))};
  return std::nullopt;
}

}  // namespace

std::vector<std::string> parse_command_line(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    arguments.emplace_back(take_until(text, '\0'));
  }
  return arguments;
}

Result<ProcessInfo> read_process(int pid) {
  auto stat = read_stat(pid);
  if (!stat) return tl::unexpected(stat.error());
  ProcessInfo process{.pid = pid,
                      .parent_pid = stat->parent_pid,
                      .name = std::move(stat->name),
                      .executable = {},
                      .arguments = {},
                      .start_ticks = stat->start_ticks};
  if (auto status = read_status(pid)) process.uid = status->uid;
  // Its own memory, and as long as it likes.
  if (const auto text = read_beginning(fmt::format("/proc/{}/cmdline", pid), kMostStartText))
    process.arguments = parse_command_line(*text);
  if (auto link = read_link(fmt::format("/proc/{}/exe", pid))) {
    process.executable = std::move(*link);
    process.executable_deleted = strip_deleted(process.executable);
  }
  return process;
}

bool is_named(const ProcessInfo& process, std::string_view name) {
  if (name.empty()) return false;
  if (process.name == name) return true;
  if (!process.executable.empty()) return base_name(process.executable) == name;
  return name.size() > kNameLimit && process.name == name.substr(0, kNameLimit) &&
         !process.arguments.empty() && base_name(process.arguments[0]) == name;
}

Result<std::vector<ProcessInfo>> find_by_name(std::string_view name) {
  auto pids = numbers_in("/proc");
  if (!pids) return tl::unexpected(pids.error());
  std::vector<ProcessInfo> matches;
  for (int pid : *pids) {
    if (pid == ::getpid()) continue;
    auto process = read_process(pid);
    if (process && is_named(*process, name)) matches.push_back(std::move(*process));
  }
  return matches;
}

bool is_named_like(const ProcessInfo& process, std::string_view text) {
  constexpr std::size_t kFewest = 2;
  if (text.size() < kFewest) return false;
  const auto contains = [&](std::string_view name) {
    // Not std::ranges::search: clang 14, which builds the fuzz targets, does not compile that of libstdc++ 12.
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(name.begin(), name.end(), text.begin(), text.end(), same) != name.end();
  };
  return contains(process.name) || contains(base_name(process.executable));
}

Error no_process_named(std::string_view name) {
  constexpr std::size_t kMost = 10;
  std::vector<ProcessInfo> alike;
  if (auto pids = numbers_in("/proc")) {
    for (const int pid : *pids) {
      if (pid == ::getpid()) continue;
      auto process = read_process(pid);
      if (process && is_named_like(*process, name)) alike.push_back(std::move(*process));
    }
  }
  if (alike.empty())
    return {ErrorKind::kNotFound, fmt::format("no process is named '{}'", name),
            "the exact name, as ps -C NAME has it, or -p PID"};
  std::string candidates;
  for (std::size_t i = 0; i < std::min(alike.size(), kMost); ++i) candidates += "\n  " + describe(alike[i]);
  if (alike.size() > kMost) candidates += fmt::format("\n  and {} more", alike.size() - kMost);
  return {ErrorKind::kNotFound,
          fmt::format("no process is named exactly '{}'; named like it:{}", name, candidates),
          fmt::format("-p {}", alike.front().pid)};
}

Error unreadable_process(int pid) {
  const auto stat = read_stat(pid);
  if (!stat) return {ErrorKind::kNotFound, fmt::format("process {}: there is none", pid), ""};
  if (stat->state == 'Z' || stat->state == 'X')
    return {ErrorKind::kNotFound, fmt::format("process {}: it has ended, and waits for its parent", pid), ""};
  return {ErrorKind::kPermission, fmt::format("process {}: the kernel does not let us read it", pid),
          remedy_for_tracing()};
}

std::string describe(const ProcessInfo& process, std::size_t width) {
  // A million arguments are not looked through for one line.
  std::size_t shown = 0, bytes = 0;
  while (shown < process.arguments.size() && bytes <= width) bytes += process.arguments[shown++].size() + 1;
  std::string command = command_line(std::span(process.arguments).first(shown));
  while (command.ends_with(' '))
    command.pop_back();  // titles that a program sets leave the rest of the room blank
  if (command.empty()) command = fmt::format("[{}]", process.name);
  // A command line may hold anything; none of it may steer the terminal.
  for (char& c : command) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  const std::string head = fmt::format("pid {} ({}): ", process.pid, user_name(process.uid));
  // Several processes of one program differ in their arguments, not in its folder.
  if (const std::size_t end = std::min(command.find(' '), command.size());
      head.size() + command.size() > width && command.starts_with('/'))
    command.erase(0, command.rfind('/', end) + 1);
  std::string line = head + command;
  if (line.size() > width && width > 3) {
    line.resize(width - 3);
    line += "...";
  }
  return line;
}

std::optional<std::uint64_t> parse_namespace(std::string_view link) {
  const std::size_t open = link.find(":[");
  if (open == std::string_view::npos || !link.ends_with(']')) return std::nullopt;
  return parse_number(link.substr(open + 2, link.size() - open - 3));
}

bool gives_rights(const std::string& program) {
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0) return false;
  const bool set_group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  return (status.st_mode & S_ISUID) != 0 || set_group ||
         ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

Namespaces read_namespaces(int pid) {
  const auto number = [&](const char* name) -> std::uint64_t {
    auto link = read_link(fmt::format("/proc/{}/ns/{}", pid, name));
    return link ? parse_namespace(*link).value_or(0) : 0;
  };
  return {number("pid"), number("mnt"), number("user"), number("net"), number("cgroup")};
}

std::optional<Container> guess_container(const std::vector<CgroupMembership>& memberships) {
  for (const CgroupMembership& membership : memberships) {
    const std::string_view path = membership.path;
    const bool in_kubernetes = path.find("kubepods") != std::string_view::npos;
    std::string_view parent, rest = path;
    std::optional<Container> innermost;
    while (!rest.empty()) {
      const std::string_view part = take_until(rest, '/');
      if (auto container = container_of(part, parent, in_kubernetes)) innermost = std::move(container);
      parent = part;
    }
    if (innermost) return innermost;
  }
  return std::nullopt;
}

}  // namespace fathom::process
