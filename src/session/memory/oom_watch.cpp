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

void OomWatch::look(std::int32_t pid) {
  auto cgroup = process::read_memory_cgroup(pid);
  if (!cgroup || !*cgroup || watched_.contains((*cgroup)->directory)) return;
  const auto kills = kills_in(**cgroup);
  if (!kills) return;
  std::string directory = (*cgroup)->directory;
  watched_.emplace(std::move(directory), Watched{std::move(**cgroup), *kills});
}

std::optional<OomWatch::Kill> OomWatch::kill() const {
  for (const auto& [directory, watched] : watched_)
    if (const auto now = kills_in(watched.cgroup); now && *now > watched.kills)
      return Kill{watched.cgroup.path, limit_of(watched.cgroup)};
  return std::nullopt;
}

}  // namespace fathom::session
