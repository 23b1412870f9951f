// Groups of runs of `fathom limit` that were killed together with their guardian. Only what holds no process is removed.
#pragma once

#include <string>
#include <string_view>

namespace fathom::limit {

inline constexpr std::string_view kGroupPrefix = "fathom-limit-";

// "fathom-limit-PID-NUMBER".
std::string group_name(int pid, int number);
// Removes the empty groups in `parent` whose fathom is gone. How many that were.
int remove_dead_groups(const std::string& parent);

}  // namespace fathom::limit
