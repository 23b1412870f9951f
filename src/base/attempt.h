// Tries something in a child process, so that what it changes (its own rights, its descriptors) is gone with the child.
#pragma once

#include <functional>

#include "base/result.h"

namespace fathom {

// Calls `attempt` in a forked child and returns what it returned. The child then ends without running destructors or
// exit handlers. For a process with one thread, or for an `attempt` that takes no lock of another thread's.
Result<> attempt_in_child(const std::function<Result<>()>& attempt);

}  // namespace fathom
