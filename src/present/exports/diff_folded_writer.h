// A comparison as folded stacks with two columns, "frame;frame BASE NEW", as difffolded.pl writes and flamegraph.pl and
// inferno read them. The counts of base are its own; those of new are brought to base's measure by the report's
// normalisation, so that a frame that did not change has the same number twice.
#pragma once

#include <string>

#include "analysis/diff/diff.h"

namespace fathom::present {

// Lines sorted by bytes, each stack once; samples for cpu, bytes or counts for heap, microseconds for waits. What is less
// than a half on both sides is left out. ";" in a name becomes ":", control characters spaces.
std::string write_diff_folded(const analysis::DiffReport& report);

}  // namespace fathom::present
