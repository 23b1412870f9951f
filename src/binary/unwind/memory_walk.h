// The walk of a thread whose process's memory can all be read, as that of a core file: it goes on where the stack does, which for
// a signal handler with a stack of its own is another mapping.
#pragma once

#include <vector>

#include "binary/unwind/unwinder.h"

namespace fathom::unwind {

// As Unwinder::unwind. `memory` reads code, and what is not in the copy of the stack.
walk_end walk_memory(const AddressSpace& space, const UnwindInput& input, const CodeReader& memory,
                     std::vector<FrameAddress>& out);

}  // namespace fathom::unwind
