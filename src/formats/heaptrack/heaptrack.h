// Files of heaptrack, versions 0 to 3: as it writes them (raw) and as heaptrack_interpret makes them. A record a line, the
// first letter its kind, numbers in hexadecimal. Source: the records are described in heaptrack's accumulatedtracedata.cpp
// and heaptrack_interpret.cpp.
//
// All becomes a heap of which every call is known, with slices of time and the peak exact to the event. heaptrack does not
// distinguish threads, and its times are of 10 ms, so how long blocks lived is not known. A raw file has addresses and no names: they
// stay places in modules. Addresses of interpreted files that have no name stay process addresses.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_heaptrack(std::string_view text);

// kUnsupported for a later version; kMalformed with the number of the line. `name` is the file's, for
// messages.
Result<model::Profile> read_heaptrack(std::string_view text, const std::string& name);

}  // namespace fathom::formats
