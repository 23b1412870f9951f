// What a command reads that is given no file.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom::cli {

// The recording that was written last, here or where record puts those that have no name. kNotFound: there is none.
Result<std::string> newest_recording();

}  // namespace fathom::cli
