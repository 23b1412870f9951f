// Whether the kernel killed for want of memory in the cgroup of a recorded process, and which limit that was.
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
  struct Kill {
    std::string cgroup;                        // as processes are told
    std::optional<std::uint64_t> limit_bytes;  // the smallest one from there up; nullopt: there is none
  };

  // Looks in which cgroup the process is now, and counts there from then on. Some 30 us.
  void look(std::int32_t pid);
  // The first cgroup in which there was a kill since it was first looked at.
  std::optional<Kill> kill() const;

 private:
  struct Watched {
    process::MemoryCgroup cgroup;
    std::uint64_t kills = 0;  // at first
  };
  std::map<std::string, Watched> watched_;  // by directory
};

}  // namespace fathom::session
