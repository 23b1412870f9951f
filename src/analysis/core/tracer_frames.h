// Frames of fathom itself in the stacks of its target: the heap tracer, and the programs that the kernel runs for fathom where a
// thread is switched or forks. Time in them is a cost of the recording and not of the program; what the heap tracer calls, the
// program's own allocator, is the program's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

// The module of its frames, if the profile has any.
std::optional<model::ModuleId> tracer_module(const model::Profile& profile);

// Whether a function of the kernel is one of fathom's own BPF programs: "bpf_prog_f2799eaf95f10592_thread_resumed".
bool is_own_bpf_program(std::string_view function);

// For each stack whether its time is the tracer's: its innermost frame is, but for what the kernel does for it. Empty if none is.
std::vector<char> stacks_of_tracer(const model::Profile& profile);

}  // namespace fathom::analysis
