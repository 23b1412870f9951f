// The stacks of a recording whose walk ended early, for the message of a test that wanted them whole.
#pragma once

#include <string>

namespace fathom::support {

// A line per distinct stack: how often, at which milliseconds it was seen first and last, how the walk ended
// (the numbers of base/abi/walk.h), the thread's name, and the frames from the leaf on.
std::string cut_stacks(const std::string& recording);

}  // namespace fathom::support
