// The entries of a folder of /proc that are numbers: processes, threads, descriptors.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::process {

// Ascending.
Result<std::vector<int>> numbers_in(const std::string& path);

// Where a symbolic link of /proc points to.
Result<std::string> read_link(const std::string& path);

}  // namespace fathom::process
