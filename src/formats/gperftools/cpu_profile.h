// CPU profiles of gperftools (CPUPROFILE=FILE): counts and addresses in the words of the machine, then the text of
// /proc/PID/maps. Source: its page on the format of CPU profiles. Words of 4 or 8 bytes, little-endian. There are no names in
// it: frames are places in files. Its heap profiles are text, which the reader of heap dumps takes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_gperftools_cpu(std::string_view bytes);

// kMalformed where it is damaged. A file without its end, as of a killed program, is read up to there. `name` is the file's,
// for messages.
Result<model::Profile> read_gperftools_cpu(std::string_view bytes, const std::string& name);

}  // namespace fathom::formats
