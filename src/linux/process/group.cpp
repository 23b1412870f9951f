#include "linux/process/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/parse.h"
#include "base/text.h"
#include "linux/process/directory.h"
#include "linux/process/find.h"

namespace fathom::process {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListed = 12, kMostGroups = 10'000, kMostText = 16u << 20;
constexpr std::size_t kShortId = 12;  // as engines print ids

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    if (const auto part = take_until(path, '/'); !part.empty()) parts.push_back(part);
  }
  return parts;
}

// Up to and with its part of that number.
std::string beginning_of(std::string_view path, std::size_t parts) {
  std::string beginning;
  for (const std::string_view part : parts_of(path)) {
    if (parts-- == 0) break;
    beginning += fmt::format("/{}", part);
  }
  return beginning;
}

bool is_group(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/cgroup.procs", ignored);
}

// Where the group `path` of a membership's hierarchy is.
std::optional<std::string> folder_of(const CgroupMembership& membership, const std::string& path,
                                     const std::vector<CgroupMount>& mounts) {
  CgroupMembership of_group = membership;
  of_group.path = path;
  if (membership.is_version_2()) return cgroup_directory({of_group}, mounts, "");
  for (const std::string& controller : membership.controllers)
    if (auto folder = cgroup_directory({of_group}, mounts, controller)) return folder;
  return std::nullopt;
}

// The first group, version 2 before version 1, whose last part matches `is_it`.
std::optional<std::string> find_part(const GroupView& view,
                                     const std::function<bool(std::string_view)>& is_it) {
  for (const bool version_2 : {true, false})
    for (const auto& process : view.memberships)
      for (const CgroupMembership& membership : process) {
        if (membership.is_version_2() != version_2) continue;
        const std::vector<std::string_view> parts = parts_of(membership.path);
        for (std::size_t i = parts.size(); i-- > 0;) {
          if (!is_it(parts[i])) continue;
          const auto folder = folder_of(membership, beginning_of(membership.path, i + 1), view.mounts);
          if (folder && is_group(*folder)) return folder;
        }
      }
  return std::nullopt;
}

bool is_unit(std::string_view part) {
  return part.ends_with(".service") || part.ends_with(".slice") || part.ends_with(".scope");
}

// "one of these: a, b and 3 more"
std::string listed(const std::set<std::string>& names) {
  if (names.empty()) return "-p PID; no other name is known here";
  std::vector<std::string> first;
  for (const std::string& name : names)
    if (first.size() < kMostListed) first.push_back(name);
  const std::size_t more = names.size() - first.size();
  return fmt::format("one of these: {}{}", fmt::join(first, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string name_of(const GroupView& view, const std::string& id) {
  const auto row = std::ranges::find(view.containers, id, &ContainerName::id);
  return row == view.containers.end() ? "" : row->name;
}

void read_members(const std::string& folder, std::vector<int>& pids, std::size_t& groups) {
  if (++groups > kMostGroups) return;
  if (const auto text = read_file(folder + "/cgroup.procs", kMostText)) {
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = std::min(text->find('\n', at), text->size());
      // 0: of a pid namespace that we do not see.
      if (const int pid = std::atoi(text->substr(at, end - at).c_str()); pid > 0) pids.push_back(pid);
      at = end + 1;
    }
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored))
      read_members(entry->path().string(), pids, groups);
  }
}

// Those that have memory of their own: threads of the kernel and what has ended have none.
std::vector<int> read_programs(const std::string& folder) {
  std::vector<int> pids = numbers_in(folder).value_or(std::vector<int>());
  std::erase_if(pids, [&](int pid) {
    const auto pages = read_file(fmt::format("{}/{}/statm", folder, pid), kMostText);
    return !pages || pages->starts_with("0 ");
  });
  return pids;
}

}  // namespace

Result<Group> group_at(const GroupView& view, std::string_view path) {
  std::string wanted(path);
  while (wanted.size() > 1 && wanted.ends_with('/')) wanted.pop_back();
  if (is_group(wanted)) return Group{fmt::format("{} (control group)", wanted), wanted};
  if (!wanted.starts_with('/')) wanted.insert(0, "/");
  const std::vector<std::string_view> parts = parts_of(wanted);
  const bool goes_up = std::ranges::find(parts, "..") != parts.end();
  for (const int version : {2, 1})
    for (const CgroupMount& mount : view.mounts) {
      if (mount.version != version || goes_up) continue;
      std::string_view rest = wanted;
      if (mount.root != "/") {
        if (!rest.starts_with(mount.root)) continue;
        rest.remove_prefix(mount.root.size());
        if (!rest.empty() && rest.front() != '/') continue;
      }
      const std::string folder = mount.mount_point + std::string(rest);
      if (is_group(folder)) return Group{fmt::format("{} (control group)", wanted), folder};
    }
  return fail(ErrorKind::kNotFound, fmt::format("control group {}: there is none", path),
              "a path as in /proc/PID/cgroup, or a folder below /sys/fs/cgroup");
}

Result<Group> group_of_unit(const GroupView& view, std::string_view name) {
  const std::string with_kind = is_unit(name) ? std::string(name) : fmt::format("{}.service", name);
  if (const auto folder = find_part(view, [&](std::string_view part) { return part == with_kind; }))
    return Group{fmt::format("{} (unit)", with_kind), *folder};
  std::set<std::string> all, alike;
  for (const auto& process : view.memberships)
    for (const CgroupMembership& membership : process)
      for (const std::string_view part : parts_of(membership.path))
        if (is_unit(part)) {
          all.emplace(part);
          if (lower_case(part).find(lower_case(name)) != std::string::npos) alike.emplace(part);
        }
  return fail(ErrorKind::kNotFound, fmt::format("no unit {} has a process", with_kind),
              listed(alike.empty() ? all : alike));
}

Result<Group> group_of_container(const GroupView& view, std::string_view name) {
  struct Found {
    Container container;
    std::string name;
  };
  std::vector<Found> fitting;
  std::set<std::string> all, seen;
  for (const auto& process : view.memberships) {
    const auto container = guess_container(process);
    if (!container || !seen.insert(container->id).second) continue;
    const std::string called = name_of(view, container->id);
    const std::string short_id = container->id.substr(0, kShortId);
    all.insert(called.empty() ? fmt::format("{} ({})", short_id, container->runtime)
                              : fmt::format("{} ({} {})", called, container->runtime, short_id));
    const bool fits = !name.empty() && (container->id.starts_with(name) || called == name);
    if (fits) fitting.push_back({*container, called});
  }
  const auto exact = std::ranges::find_if(
      fitting, [&](const Found& found) { return found.name == name || found.container.id == name; });
  if (exact != fitting.end()) fitting = {*exact};
  if (fitting.empty())
    return fail(ErrorKind::kNotFound, fmt::format("no container {} has a process that is seen here", name),
                listed(all));
  if (fitting.size() > 1)
    return fail(ErrorKind::kUsage, fmt::format("{} containers begin with {}", fitting.size(), name),
                "more of the id; " + listed(all));
  const Found& found = fitting.front();
  const auto folder = find_part(
      view, [&](std::string_view part) { return part.find(found.container.id) != std::string_view::npos; });
  if (!folder)
    return fail(ErrorKind::kNotFound, fmt::format("the control group of container {} is not seen here", name),
                "the control groups of the host, mounted at /sys/fs/cgroup");
  const std::string short_id = found.container.id.substr(0, kShortId);
  return Group{found.name.empty()
                   ? fmt::format("{} (container of {})", short_id, found.container.runtime)
                   : fmt::format("{} (container of {}, {})", found.name, found.container.runtime, short_id),
               *folder};
}

Group whole_machine() {
  return {"this machine", "/proc", true};
}

std::vector<int> members_of(const Group& group) {
  std::vector<int> pids;
  std::size_t groups = 0;
  if (group.is_machine)
    pids = read_programs(group.folder);
  else
    read_members(group.folder, pids, groups);
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  std::erase(pids, ::getpid());
  return pids;
}

GroupView read_groups() {
  GroupView view;
  if (const auto text = read_file("/proc/self/mountinfo")) view.mounts = parse_cgroup_mounts(*text);
  if (const auto pids = numbers_in("/proc"))
    for (const int pid : *pids)
      if (auto memberships = read_cgroup(pid)) view.memberships.push_back(std::move(*memberships));
  view.containers = read_container_names();
  return view;
}

}  // namespace fathom::process
