#include "tools/flight/hold/group_hold.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/process/cgroup.h"
#include "linux/process/fields.h"
#include "linux/process/standstill.h"

namespace fathom::flight {
namespace {

Result<> write(const std::string& path, const std::string& value) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return system_error(path, errno);
  if (::write(file.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return system_error(fmt::format("{}: {}", path, value), errno);
  return {};
}

std::string first_line(const std::string& path) {
  const auto text = read_file(path);
  return text ? text->substr(0, text->find('\n')) : "";
}

Result<> is_alone(const std::string& folder, const IsOurs& is_ours) {
  const auto procs = read_file(folder + "/cgroup.procs");
  if (!procs) return tl::unexpected<Error>(procs.error());
  std::string_view rest = *procs, line;
  std::size_t count = 0;
  while (process::next_line(rest, line)) {
    const auto pid = parse_number<std::int32_t>(line);
    ++count;
    if (!pid || *pid == 0 || !is_ours(*pid))
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: it also contains process {}, which is not recorded", folder, line));
  }
  if (count == 0) return fail(ErrorKind::kUnsupported, folder + ": it is empty");
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error)) return fail(ErrorKind::kUnsupported, folder + ": there are groups below it");
  return {};
}

struct Folders {
  std::string version_2, freezer;
};
Result<Folders> folders_of(std::int32_t pid) {
  const auto memberships = process::read_cgroup(pid);
  if (!memberships) return tl::unexpected<Error>(memberships.error());
  const auto mountinfo = read_file("/proc/self/mountinfo");
  if (!mountinfo) return tl::unexpected<Error>(mountinfo.error());
  const auto mounts = process::parse_cgroup_mounts(*mountinfo);
  Folders folders;
  for (const process::CgroupMembership& membership : *memberships) {
    if (membership.path == "/") continue;
    const bool is_freezer =
        std::ranges::find(membership.controllers, "freezer") != membership.controllers.end();
    if (membership.is_version_2())
      folders.version_2 = process::cgroup_directory(*memberships, mounts, "").value_or("");
    else if (is_freezer)
      folders.freezer = process::cgroup_directory(*memberships, mounts, "freezer").value_or("");
  }
  return folders;
}

}  // namespace

Result<Hold> freeze_of(const std::string& folder, int version, const IsOurs& is_ours) {
  if (auto alone = is_alone(folder, is_ours); !alone) return tl::unexpected<Error>(alone.error());
  Hold hold{folder + (version == 2 ? "/cgroup.freeze" : "/freezer.state"), version == 2 ? "1" : "FROZEN",
            version == 2 ? "0" : "THAWED", kMostFrozenMs};
  if (const std::string now = first_line(hold.path); now != hold.off)
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("{}: '{}', so another program freezes it, or it cannot be frozen", hold.path, now));
  return hold;
}

Result<Hold> brake_of(const std::string& folder, const IsOurs& is_ours) {
  if (auto alone = is_alone(folder, is_ours); !alone) return tl::unexpected<Error>(alone.error());
  const std::string before = first_line(folder + "/memory.high");
  const auto used = parse_number(first_line(folder + "/memory.current"));
  const auto set = parse_number(before);
  if (!used || (!set && before != "max"))
    return fail(ErrorKind::kUnsupported, folder + ": it has no memory.high");
  constexpr std::uint64_t kLeast = 1 << 20;
  const std::uint64_t brake = *used + std::max(*used / 64, kLeast);
  if (set && *set <= brake) return fail(ErrorKind::kUnsupported, folder + ": it is braked already");
  return Hold{folder + "/memory.high", std::to_string(brake), before, kMostBrakedMs};
}

Result<Hold> freeze_of_process(std::int32_t pid, const IsOurs& is_ours) {
  const auto folders = folders_of(pid);
  if (!folders) return tl::unexpected<Error>(folders.error());
  Result<Hold> found =
      fail(ErrorKind::kUnsupported,
           fmt::format("process {} is in no control group of its own that can be frozen", pid));
  if (!folders->version_2.empty()) found = freeze_of(folders->version_2, 2, is_ours);
  if (!found && !folders->freezer.empty()) found = freeze_of(folders->freezer, 1, is_ours);
  return found;
}

Result<Hold> brake_of_process(std::int32_t pid, const IsOurs& is_ours) {
  const auto folders = folders_of(pid);
  if (!folders) return tl::unexpected<Error>(folders.error());
  if (folders->version_2.empty())
    return fail(ErrorKind::kUnsupported,
                fmt::format("process {} is in no group of version 2 of its own", pid));
  return brake_of(folders->version_2, is_ours);
}

Result<> hold(const Hold& hold) {
  return write(hold.path, hold.on);
}

void let_go(const Hold& hold) {
  (void)write(hold.path, hold.off).has_value();
}

bool holds(const Hold& hold) {
  if (hold.on == "FROZEN") return first_line(hold.path) == "FROZEN";
  if (!hold.path.ends_with("/cgroup.freeze")) return true;
  const auto events = read_file(hold.path.substr(0, hold.path.rfind('/')) + "/cgroup.events");
  return events && process::says_frozen_version_2(*events);
}

}  // namespace fathom::flight
