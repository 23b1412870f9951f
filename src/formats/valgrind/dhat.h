// Files of DHAT (version 2), as valgrind and the crate dhat write them. Allocations, what was live when most was, and what was
// live at the end become a heap of which every call is known; how long blocks lived DHAT says as a mean only. Of the modes
// "copy" and "ad-hoc", which count no heap, the bytes or units become the values of samples.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_dhat(std::string_view text);

// kMalformed where it is no such file; kUnsupported for another version. `name` is the file's, for messages.
Result<model::Profile> read_dhat(std::string_view text, const std::string& name);

}  // namespace fathom::formats
