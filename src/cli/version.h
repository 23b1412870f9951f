// The output of `fathom --version`: for bug reports, and for scripts that check what a program can do.
#pragma once

#include <string>

namespace fathom::cli {

// Version and commit, the engines that were built, which recordings are written and read, the size of the program's file and the
// shared libraries it needs.
std::string version_text();

}  // namespace fathom::cli
