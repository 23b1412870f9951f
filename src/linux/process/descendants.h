// The processes that a process has started, and those that these have. Source: the parents in /proc/PID/stat.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace fathom::process {

// Without `pid` itself. One whose parent has ended belongs to init, and is not found.
std::vector<int> descendants(int pid);

// The same from a list of (process, parent), in any order.
std::vector<int> descendants_in(const std::vector<std::pair<int, int>>& parents, int pid);

// The one of `pids` that has started all others, such as the master of a server; nullopt: there is none.
std::optional<int> starter_of(const std::vector<int>& pids);
// The same from a list of (process, parent).
std::optional<int> starter_in(const std::vector<std::pair<int, int>>& parents, const std::vector<int>& pids);

// The live descendants of these processes, without themselves, each once. Those of a process that started the caller, such as
// its shell, exclude the caller and what it started; a command that the caller started has its own.
std::vector<int> living_children(const std::vector<int>& pids);
// The same from a list of (process, parent).
std::vector<int> living_children_in(const std::vector<std::pair<int, int>>& parents,
                                    const std::vector<int>& pids, int caller);

}  // namespace fathom::process
