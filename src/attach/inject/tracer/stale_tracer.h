// A tracer whose profiler died: finds it by the name of its shared memory in /proc/PID/maps, and removes it
// using the journal there and the modules' files. No information outside the target is needed. The target can
// write to that memory: a damaged head is reported, and the files alone then show what to restore
// (restoration.h).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace fathom::inject {

// The profiler that holds a tracer in this process: its pid, or 0 if it is gone (killed); nullopt if there is
// no tracer. The pid is relative to the profiler's own pid namespace: seen from another one, 0 may be wrong.
std::optional<int> holder(int pid);

// Restores text and slots and removes the mappings. Returns one line that describes the result. kNotFound:
// there is no tracer. kPermission: a living profiler holds it. The line also names what could not be
// restored, and what was not believed.
Result<std::string> detach_stale_tracer(int pid);

}  // namespace fathom::inject
