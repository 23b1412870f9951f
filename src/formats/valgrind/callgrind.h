// Files of valgrind's callgrind, and of the many tools that write its format: what each function cost itself, and what its calls
// of others cost. Source: docs/html/cl-format.html of valgrind.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_callgrind(std::string_view text);

// The first event of the file. The costs of functions themselves are exact; the format knows callers by pairs only, so how much
// of a function belongs to which longer path is shared out in proportion, and said so. kMalformed where a line makes no sense.
Result<model::Profile> read_callgrind(std::string_view text, const std::string& name);

}  // namespace fathom::formats
