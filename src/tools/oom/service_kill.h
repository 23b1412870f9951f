// A line of a service that kills before the kernel has to: systemd-oomd and earlyoom. Sources: what systemd 247 to 257 and
// earlyoom 1.3 to 1.8 write into the journal. Pure; untrusted input, as in records.h.
#pragma once

#include <optional>
#include <string_view>

#include "tools/oom/records.h"

namespace fathom::oom {

// A record of one line, with its time and host; nullopt: the line is of something else.
std::optional<Record> read_service_kill(std::string_view line);

// What earlyoom says before: "mem avail: 321 of 24105 MiB ( 1.33%), swap free:    0 of    0 MiB ( 0.00%)".
struct MachineUse {
  MemoryUse memory, swap;
};
std::optional<MachineUse> read_machine_use(std::string_view line);

// The kill of the line before was none: earlyoom tries only what it would do (--dryrun).
bool is_dry_run(std::string_view line);

}  // namespace fathom::oom
