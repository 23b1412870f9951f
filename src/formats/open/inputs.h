// The files that an input names: a path, a folder of heap dumps, or a pattern that the shell did not expand.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::open {

// In the given order; the files of a folder (*.heap in it) or a pattern (*, ?, [) are sorted. An existing
// path stands for itself, even if it looks like a pattern, and so do "-" and a folder without dumps.
// kNotFound if a pattern matches nothing.
Result<std::vector<std::string>> files_of_inputs(const std::vector<std::string>& inputs);

}  // namespace fathom::open
