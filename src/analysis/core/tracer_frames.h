// Frames of fathom's own heap tracer in the stacks of its target. Time in it is a cost of the recording and not of the
// program; what it calls, the program's own allocator, is the program's.
#pragma once

#include <optional>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

// The module of its frames, if the profile has any.
std::optional<model::ModuleId> tracer_module(const model::Profile& profile);

// For each stack whether its time is the tracer's: its innermost frame is, but for what the kernel does for it. Empty if none is.
std::vector<char> stacks_of_tracer(const model::Profile& profile);

}  // namespace fathom::analysis
