// The code of a running process as it stands in memory: what a tracer must leave as it was.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace fathom::support {

// Of every executable mapping of a file that is there now, with its addresses. Empty: it cannot be read.
std::string code_of(pid_t pid);
int mappings_of(pid_t pid);
// Those that belong to a heap tracer.
int tracer_mappings_of(pid_t pid);

// The recorder's guardian process, which removes its heap tracer if the recorder is killed; nullopt: it has
// none yet.
std::optional<pid_t> guardian_of(pid_t recorder);

}  // namespace fathom::support
