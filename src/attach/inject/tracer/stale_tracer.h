// A tracer whose profiler is gone: found by its shared memory's name in /proc/PID/maps, and taken out by the
// journal that stands there and by the modules' files. Nothing of it has to be kept anywhere outside of the
// target. The target can write to that memory: a head that is damaged is said to be, and the files alone then
// tell what to restore (restoration.h).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace fathom::inject {

// The profiler that holds a tracer in this process: its pid, 0 if it is gone (killed); nullopt if there is no
// tracer. Its pid is of its own pid namespace: from another one, 0 may be wrong.
std::optional<int> holder(int pid);

// Restores text and slots and removes the mappings. The string is one line about what was done. kNotFound:
// there is nothing of ours. kPermission: a living profiler holds it. What could not be restored, and what was
// not believed, is named in the line.
Result<std::string> detach_stale_tracer(int pid);

}  // namespace fathom::inject
