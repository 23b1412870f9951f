// Opens whatever a reading command was given: a recording, folded stacks or the text of perf script, told
// apart by their content and never by their name. "-" is standard input.
#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "store/reader.h"

namespace fathom::cli {

// The profile has passed check(). An imported one is named after its file (meta.target). What is recognised
// and cannot be read (perf.data, compressed files, pictures) is kUnsupported with the way out.
// What `options` ask for is kNotFound in anything but a recording.
Result<model::Profile> open_profile(const std::string& path, const store::ReadOptions& options = {});

}  // namespace fathom::cli
