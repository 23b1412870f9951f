// What `fathom --version` says: for whoever reports a fault, and for scripts that ask what a program can do.
#pragma once

#include <string>

namespace fathom::cli {

// Version and commit, the engines that were built, and which recordings are written and read.
std::string version_text();

}  // namespace fathom::cli
