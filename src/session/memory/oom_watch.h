// In which cgroups the recorded processes are, which limits of memory hold there, and how many processes the kernel has
// killed there for want of memory. What was seen last is kept: a cgroup goes away with its last process.
// Sources: cgroups(7); the kernel's admin-guide/cgroup-v2.rst ("memory.events") and cgroup-v1/memory.rst
// ("memory.oom_control").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "process/cgroup.h"

namespace fathom::session {

// Processes that the kernel killed in this cgroup, from memory.events or memory.oom_control.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text);

class OomWatch {
 public:
  struct Group {
    std::string cgroup;                        // as processes are told
    std::optional<std::uint64_t> limit_bytes;  // the smallest one from there up; nullopt: there is none
    std::uint64_t kills = 0;                   // since it was first looked at
  };

  // Looks in which cgroup the process is now, and counts there from then on. Some 50 us.
  void look(std::int32_t pid);
  // Counts again in all that are there.
  void refresh();
  // Of the process, where it was looked for last.
  std::optional<Group> group_of(std::int32_t pid) const;
  // The first one in which there was a kill.
  std::optional<Group> kill() const;

 private:
  struct Watched {
    process::MemoryCgroup cgroup;
    std::uint64_t kills = 0;  // at first
    Group now;
  };
  static void refresh(Watched& watched);

  std::map<std::string, Watched> watched_;            // by directory
  std::map<std::int32_t, std::string> directory_of_;  // by pid
};

}  // namespace fathom::session
