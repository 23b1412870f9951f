// What tracing the heap of a process would change in it, said before it is done. Reads only.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom::session {

// Lines for people: each allocator with its functions and how each is hooked, where the threads stand, how long
// they would stand still. `sampled`: first, what of it a sampled recording does without. An error: tracing would be refused, and why.
Result<std::string> describe_heap_tracing(std::int32_t pid, const std::string& symbol_directory,
                                          bool may_probe, bool sampled);

}  // namespace fathom::session
