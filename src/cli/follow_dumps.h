// report --follow: heap dumps of jemalloc as they appear in a folder that still fills.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/selection_options.h"

namespace fathom::cli {

// Says a sentence on standard error for the latest dump of each process that is there, and for each dump that comes: what is live,
// how much that changed since the dump before it of the same process, and whose code it is that grew most. Returns when somebody
// asks for the end (SIGINT, SIGTERM, SIGHUP). kNotFound where no dump came until then. A dump is read when it has not grown for half
// a second: jemalloc writes them piece by piece.
Result<> follow_dumps(const std::string& file, const SelectionOptions& selection);

}  // namespace fathom::cli
