// The allocator's own frames at the leaf of the stacks of a dump. They are there in every stack and are no reason for
// anything.
#pragma once

#include <string_view>

#include "model/profile.h"

namespace fathom::dumps {

// Code of jemalloc by its name, with any prefix that builds give it: a function that programs call ("_rjem_mallocx"), or
// one inside of it ("prof_backtrace_impl").
bool is_entry(std::string_view function);
bool is_inside(std::string_view function);

// Takes them away from the stacks of all heap sites: a library of jemalloc's name whole, else by the names of the
// functions, up to the outermost that programs call. A stack of nothing else keeps them.
void trim_allocator_frames(model::Profile& profile);

}  // namespace fathom::dumps
