// A tracer whose profiler is gone: found by its shared memory's name in /proc/PID/maps and the head in it,
// and taken out by the journal that stands there. Nothing of it has to be kept anywhere outside of the
// target.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace fathom::inject {

// The profiler that holds a tracer in this process: its pid, 0 if it is gone (killed); nullopt if there is no
// tracer. Its pid is of its own pid namespace: from another one, 0 may be wrong.
std::optional<int> holder(int pid);

// Restores text and slots and removes the mappings. The string is one line about what was done. kNotFound:
// there is nothing of ours. kPermission: a living profiler holds it.
Result<std::string> detach_left_behind(int pid);

}  // namespace fathom::inject
