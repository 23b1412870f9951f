// Files below the root of another machine, as it sees them: its absolute links lead to files below that root, and not to ours.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace fathom::stacks {

// For reading; `root` "" is our own. Invalid: there is no such file.
Fd open_below(const std::string& root, const std::string& path);

// The path, and where the same file is on a machine with or without /usr/lib and /lib being one folder.
std::vector<std::string> same_paths(const std::string& path);

}  // namespace fathom::stacks
