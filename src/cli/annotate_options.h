// Annotations as commands ask for them: files are read by a process apart.
#pragma once

#include <string>

#include "analysis/annotate/annotation.h"

namespace fathom::cli {

// Of the function `pattern`, with names from the folder `symbols` ("": none), too.
inline annotate::AnnotateOptions annotate_options(const std::string& pattern, const std::string& symbols) {
  annotate::AnnotateOptions options;
  options.pattern = pattern;
  options.names.reader.program = "/proc/self/exe";  // main() knows what it is then
  options.names.symbol_directory = symbols;
  return options;
}

}  // namespace fathom::cli
