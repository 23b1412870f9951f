// report --follow: heap dumps of jemalloc as they appear in a folder that still fills.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/selection_options.h"

namespace fathom::cli {

// Prints a sentence on standard error for the latest existing dump of each process and for each new dump:
// what is live, how much that changed since the previous dump of the process, and which code grew most.
// Returns on SIGINT, SIGTERM or SIGHUP. kNotFound if there was no dump until then. A dump is read when it has
// not grown for half a second: jemalloc writes them piece by piece.
Result<> follow_dumps(const std::string& file, const SelectionOptions& selection);

}  // namespace fathom::cli
