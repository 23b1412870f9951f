#include "record/session/memory/oom_watch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/parse.h"
#include "linux/memory/memory_sampler.h"
#include "linux/process/fields.h"

namespace fathom::session {
namespace {

std::optional<std::uint64_t> kills_in(const process::MemoryCgroup& cgroup) {
  const auto text =
      read_file(cgroup.directory + (cgroup.version == 2 ? "/memory.events" : "/memory.oom_control"));
  return text ? parse_oom_kills(*text) : std::nullopt;
}

// Of the cgroup and all above it that have one, the smallest.
std::optional<std::uint64_t> limit_of(const process::MemoryCgroup& cgroup) {
  std::optional<std::uint64_t> least;
  std::string directory = cgroup.directory;
  // The path has as many parts as there are cgroups from the mount point on, at most.
  for (auto depth = std::count(cgroup.path.begin(), cgroup.path.end(), '/') + 1; depth > 0; --depth) {
    if (const auto text =
            read_file(directory + (cgroup.version == 2 ? "/memory.max" : "/memory.limit_in_bytes")))
      if (const auto limit = sources::parse_memory_limit(*text))
        least = std::min(least.value_or(*limit), *limit);
    const std::size_t slash = directory.rfind('/');
    if (slash == std::string::npos || slash == 0) break;
    directory.erase(slash);
  }
  return least;
}

std::optional<std::uint64_t> count_in(std::string_view text, std::string_view name) {
  std::string_view line;
  while (process::next_line(text, line))
    if (process::next_field(line) == name) return parse_number(process::next_field(line));
  return std::nullopt;
}

// 0: there is none.
std::uint64_t inode_of(const std::string& directory) {
  struct stat status {};
  return ::stat(directory.c_str(), &status) == 0 ? status.st_ino : 0;
}

bool has_limit(const std::string& directory) {
  const auto text = read_file(directory + "/memory.max");
  return text && sources::parse_memory_limit(*text);
}

}  // namespace

std::optional<std::uint64_t> parse_oom_kills(std::string_view text) {
  return count_in(text, "oom_kill");
}
std::optional<std::uint64_t> parse_ooms(std::string_view text) {
  return count_in(text, "oom");
}

void OomWatch::find_above(Watched& watched) {
  if (watched.cgroup.version != 2) return;
  std::string directory = watched.cgroup.directory, path = watched.cgroup.path;
  for (auto depth = std::count(path.begin(), path.end(), '/') + 1; depth > 0; --depth) {
    const auto text = read_file(directory + "/memory.events");
    if (const auto ooms = text ? parse_ooms(*text) : std::nullopt)
      watched.above.push_back({directory, path.empty() ? "/" : path, *ooms});
    // Only the root of all groups has no state of its own; that of a namespace has.
    watched.sees_root = ::access((directory + "/cgroup.procs").c_str(), F_OK) == 0 &&
                        ::access((directory + "/cgroup.events").c_str(), F_OK) != 0;
    const std::size_t slash = directory.rfind('/'), up = path.rfind('/');
    if (watched.sees_root || slash == std::string::npos || slash == 0) break;
    directory.erase(slash);
    path.erase(up == std::string::npos ? 0 : up);
  }
}

void OomWatch::refresh(Watched& watched) {
  if (watched.now.gone) return;  // what was seen last is kept
  const auto kills = kills_in(watched.cgroup);
  // Asked afterwards, so the count is not another group's.
  watched.now.gone = inode_of(watched.cgroup.directory) != watched.inode;
  if (!kills || watched.now.gone) return;
  const std::uint64_t before = watched.now.kills;
  watched.now.kills = *kills > watched.kills ? *kills - watched.kills : 0;
  const auto limit = limit_of(watched.cgroup);
  // Gone in between, it would seem to have none, and the kill to be the machine's.
  if (kills_in(watched.cgroup)) watched.now.limit_bytes = limit;
  if (watched.now.kills == before || watched.cgroup.version != 2) return;
  watched.now.cause = watched.sees_root ? Group::Cause::kMachine : Group::Cause::kNotKnown;
  for (const Above& above : watched.above) {
    const auto text = read_file(above.directory + "/memory.events");
    const auto ooms = text ? parse_ooms(*text) : std::nullopt;
    if (!ooms || *ooms <= above.ooms || !has_limit(above.directory)) continue;
    watched.now.cause = Group::Cause::kLimit;
    watched.now.limited = above.path;
    return;
  }
}

void OomWatch::look(std::int32_t pid) {
  if (const auto cgroup = process::read_memory_cgroup(pid); cgroup && *cgroup) look(pid, **cgroup);
}

void OomWatch::look(std::int32_t pid, const process::MemoryCgroup& cgroup) {
  const Key key{cgroup.directory, inode_of(cgroup.directory)};
  auto watched = watched_.find(key);
  if (watched == watched_.end()) {
    const auto kills = kills_in(cgroup);
    if (!kills) return;
    Watched made;
    made.cgroup = cgroup;
    made.kills = *kills;
    made.inode = key.second;
    made.now.cgroup = cgroup.path;
    find_above(made);
    watched = watched_.emplace(key, std::move(made)).first;
  }
  group_of_[pid] = key;
  refresh(watched->second);
}

void OomWatch::refresh() {
  for (auto& [key, watched] : watched_) refresh(watched);
}

std::optional<OomWatch::Group> OomWatch::group_of(std::int32_t pid) const {
  const auto key = group_of_.find(pid);
  return key == group_of_.end() ? std::nullopt : std::optional(watched_.at(key->second).now);
}

std::optional<OomWatch::Group> OomWatch::kill() const {
  for (const auto& [key, watched] : watched_)
    if (watched.now.kills > 0) return watched.now;
  return std::nullopt;
}

}  // namespace fathom::session
