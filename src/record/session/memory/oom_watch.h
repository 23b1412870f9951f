// The recorded processes' cgroups, their memory limits, and the number of OOM kills there. Keeps the last
// values seen: a cgroup disappears with its last process, and its count with it, so an OOM kill of the last
// process may remain unknown. Sources: cgroups(7); the kernel's admin-guide/cgroup-v2.rst ("memory.events")
// and cgroup-v1/memory.rst ("memory.oom_control").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linux/process/cgroup.h"

namespace fathom::session {

// Processes that the kernel killed in this cgroup, from memory.events or memory.oom_control.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);
// How often this cgroup, or one below it, ran out of memory within its limit, from memory.events. Not
// available in version 1.
std::optional<std::uint64_t> parse_ooms(std::string_view text);

class OomWatch {
 public:
  struct Group {
    std::string cgroup;                        // as processes see it
    std::optional<std::uint64_t> limit_bytes;  // the smallest one from there up; nullopt: there is none
    std::uint64_t kills = 0;                   // since it was first looked at
    // It was removed, or removed and created again under its name: kills after the last reading are not
    // counted.
    bool gone = false;
    // Whose limit caused those kills. The kernel also counts a kill when the machine was full; version 2 also
    // counts in which cgroup memory ran out.
    enum class Cause : std::uint8_t { kNotKnown, kLimit, kMachine };
    Cause cause = Cause::kNotKnown;
    std::string
        limited;  // kLimit: the cgroup whose limit was hit, its own or one above it; as processes see it
  };

  // Reads in which cgroup the process is now, and counts there afterwards. Some 50 us.
  void look(std::int32_t pid);
  // The same of a cgroup that is known.
  void look(std::int32_t pid, const process::MemoryCgroup& cgroup);
  // Counts again in all that are there.
  void refresh();
  // Of the process, where it was looked for last.
  std::optional<Group> group_of(std::int32_t pid) const;
  // The first one in which there was a kill.
  std::optional<Group> kill() const;

 private:
  // A cgroup of version 2, from the watched one upward.
  struct Above {
    std::string directory, path;
    std::uint64_t ooms = 0;  // at first
  };
  struct Watched {
    process::MemoryCgroup cgroup;
    std::uint64_t kills = 0;  // at first
    std::vector<Above> above;
    std::uint64_t inode = 0;  // of its folder: no two groups have the same
    bool sees_root = false;   // else there may be limits above that are not visible here
    Group now;
  };
  static void find_above(Watched& watched);
  static void refresh(Watched& watched);

  using Key =
      std::pair<std::string, std::uint64_t>;  // directory, and inode: a name may be another group's later
  std::map<Key, Watched> watched_;
  std::map<std::int32_t, Key> group_of_;  // by pid
};

}  // namespace fathom::session
