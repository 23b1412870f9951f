// Where files are that debug information points to (split DWARF, files shared by dwz). Private to this folder.
#pragma once

#include <string>

namespace fathom::symbolize {

struct PointedPaths {
  std::string root;    // stands before each path that is opened; "" where paths are our own
  std::string module;  // the file that points, as a path below `root`
};

}  // namespace fathom::symbolize
