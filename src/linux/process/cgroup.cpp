#include "linux/process/cgroup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::process {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    if (const auto part = take_until(text, separator); !part.empty()) parts.emplace_back(part);
  }
  return parts;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Where `path` is seen under `mount`; nullopt if the mount shows another part of the tree.
std::optional<std::string> directory_of(const CgroupMount& mount, std::string_view path) {
  if (path.starts_with("/..")) return std::nullopt;
  if (mount.root != "/") {
    if (!path.starts_with(mount.root)) return std::nullopt;
    path.remove_prefix(mount.root.size());
    if (!path.empty() && path[0] != '/') return std::nullopt;  // "/a" is no parent of "/ab"
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  return mount.mount_point + std::string(path);
}

}  // namespace

std::vector<CgroupMembership> parse_cgroup(std::string_view text) {
  std::vector<CgroupMembership> memberships;
  std::string_view line;
  while (next_line(text, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto hierarchy = parse_number<int>(line.substr(0, first));
    if (!hierarchy) continue;
    std::string path = unescape(line.substr(second + 1));
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    memberships.push_back(
        {*hierarchy, split(line.substr(first + 1, second - first - 1), ','), std::move(path)});
  }
  return memberships;
}

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  std::string_view line;
  while (next_line(mountinfo, line)) {
    // "36 35 98:0 ROOT MOUNT_POINT mount,options optional:fields - TYPE SOURCE super,options"
    next_field(line), next_field(line), next_field(line);
    CgroupMount mount;
    mount.root = unescape(next_field(line));
    mount.mount_point = unescape(next_field(line));
    std::string_view field = next_field(line);
    while (!field.empty() && field != "-") field = next_field(line);
    const std::string_view type = next_field(line);
    if (type != "cgroup" && type != "cgroup2") continue;
    mount.version = type == "cgroup" ? 1 : 2;
    next_field(line);
    mount.options = split(next_field(line), ',');
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::optional<MemoryCgroup> memory_cgroup(const std::vector<CgroupMembership>& memberships,
                                          const std::vector<CgroupMount>& mounts) {
  // A controller is in one hierarchy only: if version 1 has memory, version 2 has none.
  const auto in_version_1 =
      std::find_if(memberships.begin(), memberships.end(),
                   [](const CgroupMembership& m) { return contains(m.controllers, "memory"); });
  const auto member = in_version_1 != memberships.end()
                          ? in_version_1
                          : std::find_if(memberships.begin(), memberships.end(),
                                         [](const CgroupMembership& m) { return m.is_version_2(); });
  if (member == memberships.end()) return std::nullopt;
  const int version = member->is_version_2() ? 2 : 1;
  for (const CgroupMount& mount : mounts) {
    if (mount.version != version || (version == 1 && !contains(mount.options, "memory"))) continue;
    if (auto directory = directory_of(mount, member->path))
      return MemoryCgroup{version, std::move(*directory), member->path};
  }
  return std::nullopt;
}

std::optional<std::string> cgroup_directory(const std::vector<CgroupMembership>& memberships,
                                            const std::vector<CgroupMount>& mounts,
                                            std::string_view controller) {
  const bool version_2 = controller.empty();
  for (const CgroupMembership& member : memberships) {
    if (version_2 ? !member.is_version_2() : !contains(member.controllers, controller)) continue;
    for (const CgroupMount& mount : mounts) {
      if (version_2 ? mount.version != 2 : mount.version != 1 || !contains(mount.options, controller))
        continue;
      if (auto directory = directory_of(mount, member.path)) return directory;
    }
  }
  return std::nullopt;
}

Result<std::vector<CgroupMembership>> read_cgroup(int pid) {
  auto text = read_file(fmt::format("/proc/{}/cgroup", pid));
  if (!text) return tl::unexpected(text.error());
  return parse_cgroup(*text);
}

Result<std::optional<MemoryCgroup>> read_memory_cgroup(int pid) {
  auto memberships = read_cgroup(pid);
  if (!memberships) return tl::unexpected(memberships.error());
  auto mountinfo = read_file("/proc/self/mountinfo");  // ours: these are the paths that we open later
  if (!mountinfo) return tl::unexpected(mountinfo.error());
  return memory_cgroup(*memberships, parse_cgroup_mounts(*mountinfo));
}

}  // namespace fathom::process
