// The processes that a process has started, and those that these have. Source: the parents in /proc/PID/stat.
#pragma once

#include <utility>
#include <vector>

namespace fathom::process {

// Without `pid` itself. One whose parent has ended belongs to init, and is not found.
std::vector<int> descendants(int pid);

// The same from a list of (process, parent), in any order.
std::vector<int> descendants_in(const std::vector<std::pair<int, int>>& parents, int pid);

}  // namespace fathom::process
