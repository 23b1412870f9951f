// What the CPUs of the whole machine did since boot. Source: proc(5), /proc/stat, its first line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace fathom::process {

// In ticks_per_second(), summed over CPUs.
struct MachineTime {
  std::uint64_t busy_ticks = 0;    // not idle and not waiting for disks; what was stolen included
  std::uint64_t stolen_ticks = 0;  // a virtual machine's CPU had work, and the host ran something else
  bool operator==(const MachineTime&) const = default;
};
Result<MachineTime> parse_machine_time(std::string_view text);
Result<MachineTime> read_machine_time();

// Of the busy time between the two. nullopt: too little of it for a share, less than a second.
std::optional<double> stolen_share(const MachineTime& before, const MachineTime& after);

// Of the `available_s` that all CPUs together had between the two, what others took: all but `known_s`. 0 to 1; nullopt: less
// than a second was available.
std::optional<double> others_share(const MachineTime& before, const MachineTime& after, double known_s,
                                   double available_s);

}  // namespace fathom::process
