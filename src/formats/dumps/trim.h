// The allocator's own frames at the leaf of a dump's stacks. Every stack has them, and they explain nothing.
#pragma once

#include <string_view>

#include "model/profile.h"

namespace fathom::dumps {

// Recognizes jemalloc's code by its name, with any prefix that builds add: a function that programs call
// ("_rjem_mallocx"), or an internal one ("prof_backtrace_impl").
bool is_entry(std::string_view function);
bool is_inside(std::string_view function);

// Removes them from the stacks of all heap sites: all frames of a library with jemalloc's name, otherwise by
// function name, up to the outermost function that programs call. A stack of nothing else keeps them.
void trim_allocator_frames(model::Profile& profile);

}  // namespace fathom::dumps
