// Inputs of commands that read recordings and that are no files: stores of fathom serve, and rows of many hosts.
#pragma once

#include <string>

namespace fathom::cli {

// Such a name may have characters of a pattern, such as '?'. Defined in selection_options.cpp, which opens them.
bool is_no_file(const std::string& input);

}  // namespace fathom::cli
