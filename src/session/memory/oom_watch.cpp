#include "session/memory/oom_watch.h"

#include <algorithm>

#include "base/files.h"
#include "process/fields.h"
#include "sources/memory/memory_sampler.h"

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

}  // namespace

std::optional<std::uint64_t> parse_oom_kills(std::string_view text) {
  std::string_view line;
  while (process::next_line(text, line))
    if (process::next_field(line) == "oom_kill") return process::parse_number(process::next_field(line));
  return std::nullopt;
}

void OomWatch::refresh(Watched& watched) {
  const auto kills = kills_in(watched.cgroup);
  if (!kills) return;
  watched.now.kills = *kills > watched.kills ? *kills - watched.kills : 0;
  watched.now.limit_bytes = limit_of(watched.cgroup);
}

void OomWatch::look(std::int32_t pid) {
  auto cgroup = process::read_memory_cgroup(pid);
  if (!cgroup || !*cgroup) return;
  const std::string& directory = (*cgroup)->directory;
  auto watched = watched_.find(directory);
  if (watched == watched_.end()) {
    const auto kills = kills_in(**cgroup);
    if (!kills) return;
    watched = watched_.emplace(directory, Watched{**cgroup, *kills, {(*cgroup)->path, {}, 0}}).first;
  }
  directory_of_[pid] = directory;
  refresh(watched->second);
}

void OomWatch::refresh() {
  for (auto& [directory, watched] : watched_) refresh(watched);
}

std::optional<OomWatch::Group> OomWatch::group_of(std::int32_t pid) const {
  const auto directory = directory_of_.find(pid);
  return directory == directory_of_.end() ? std::nullopt : std::optional(watched_.at(directory->second).now);
}

std::optional<OomWatch::Group> OomWatch::kill() const {
  for (const auto& [directory, watched] : watched_)
    if (watched.now.kills > 0) return watched.now;
  return std::nullopt;
}

}  // namespace fathom::session
