// doctor --alloc-rate: how much a program allocates, as a number or measured by a recording of its heap.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom::cli {

// Bytes per second of "100" (megabytes) or of a recording. kUsage for a number that is not above 0, kNotFound for a file without
// allocations over time.
Result<double> allocation_rate(const std::string& text);

}  // namespace fathom::cli
