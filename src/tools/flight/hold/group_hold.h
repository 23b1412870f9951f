// A control group that is held for a moment: a file, the text that holds the group, and the text that
// releases it. Only for a group that contains nothing but the recorded processes: others in it would stop
// too, perhaps fathom itself. Sources: the kernel's admin-guide/cgroup-v2.rst (cgroup.freeze, memory.high)
// and cgroup-v1/freezer-subsystem.rst.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace fathom::flight {

struct Hold {
  std::string path;     // of the control file
  std::string on, off;  // what holds, and what releases
  std::uint32_t most_ms = 0;
  bool operator==(const Hold&) const = default;
};

inline constexpr std::uint32_t kMostFrozenMs = 50, kMostBrakedMs = 200;

using IsOurs = std::function<bool(std::int32_t pid)>;

// Of the folder of a group of version 1 (freezer) or 2. kUnsupported: it holds others, or groups below it, or is not there.
Result<Hold> freeze_of(const std::string& folder, int version, const IsOurs& is_ours);
// Version 2: memory.high a little above what is used now; before, what it was.
Result<Hold> brake_of(const std::string& folder, const IsOurs& is_ours);

// Of the groups of a process: that of version 2, else that of the freezer of version 1. The root of a hierarchy is none.
Result<Hold> freeze_of_process(std::int32_t pid, const IsOurs& is_ours);
Result<Hold> brake_of_process(std::int32_t pid, const IsOurs& is_ours);

Result<> hold(const Hold& hold);
void let_go(const Hold& hold);
// All tasks stand still. Of a brake: at once.
bool holds(const Hold& hold);

}  // namespace fathom::flight
