// What V8's inspector writes: .cpuprofile and .heapprofile (node --cpu-prof, --heap-prof, Chrome's developer tools).
//
// Of a CPU profile the time from one sample to the next belongs to the first of them; where it is "(idle)" it is time off
// the CPU, so that the metric wall is all of it. Old files without times have counts. Of a heap profile the sizes are what
// V8 has scaled up from its samples; how many blocks there are it does not say, so each of its samples stands as one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_cpu_profile(std::string_view text);
bool is_heap_profile(std::string_view text);

// kMalformed where it is no such file. `name` is the file's, for messages.
Result<model::Profile> read_cpu_profile(std::string_view text, const std::string& name);
Result<model::Profile> read_heap_profile(std::string_view text, const std::string& name);

}  // namespace fathom::formats
