// Recordings of a killed process: fathom's own evidence about that death.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::oom {

struct Evidence {
  std::string path;
  std::string what;  // "pid 28438 was recorded, with its heap, for 12.3 s"
};

// Among the newest recordings in `folder` (fathom-profiles, where recordings go by default) of programs of this name
// (of which the kernel keeps 15 bytes) those that hold this process: a pid is used again, so the name has to fit, too.
std::vector<Evidence> find_evidence(const std::string& folder, std::int64_t pid, const std::string& name);

}  // namespace fathom::oom
