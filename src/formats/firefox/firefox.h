// Processed profiles of the Firefox Profiler, as samply and the Profiler's own page write them: versions with tables shared by
// all threads (60 and later) and with tables of each thread, parents by number or by distance. The samples of every thread
// become the metric cpu: by their weights, at the rate of the profile where they count samples, else in ns; those of threads
// called "... (off-CPU)" off-cpu. Markers, counters and allocations are left out, and so are profiles that are not processed
// (Gecko's own).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_firefox(std::string_view text);

// kMalformed where it is no such file. `name` is the file's, for messages.
Result<model::Profile> read_firefox(std::string_view text, const std::string& name);

}  // namespace fathom::formats
