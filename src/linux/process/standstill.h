// Whether a process was stopped or frozen: it runs nothing until it is resumed, handles no signal but
// SIGKILL, and cannot exit. Source: proc(5), cgroups(7) and the kernel's descriptions of both freezers.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::process {

enum class Standstill : std::uint8_t {
  kNone,
  kStopped,  // SIGSTOP, Ctrl-Z, a debugger
  kFrozen,   // by the freezer of its control group
};

// kNone also if unknown.
Standstill standstill(int pid);

// "FROZEN" in freezer.state (version 1; FREEZING is on the way there); "frozen 1" in cgroup.events (version
// 2).
bool says_frozen_version_1(std::string_view freezer_state);
bool says_frozen_version_2(std::string_view events);

}  // namespace fathom::process
