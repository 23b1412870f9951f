// A profile as a recording in a file.
#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::cli {

// A new file; another recording is replaced only with `force`. Nothing is left where it fails.
Result<> save_recording(const model::Profile& profile, const std::string& path, bool force);

}  // namespace fathom::cli
