// The files that an input names: a path, a list of them with commas, a folder of heap dumps, or a pattern that a shell did not
// expand.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::open {

// In the order given; what a folder (*.heap in it) or a pattern (*, ?, [) names is sorted. A path of anything that is there
// stands for itself, also if it looks like a pattern or a list, and so do "-" and a folder without dumps. kNotFound where a pattern
// names nothing.
Result<std::vector<std::string>> files_of_inputs(const std::vector<std::string>& inputs);

}  // namespace fathom::open
