// Which code makes resident memory grow: the function that touches most new pages first. Known from the page faults of any
// recording with waits, for memory of an allocator and memory that the program maps itself alike, and no heap need be traced.
#pragma once

#include <optional>
#include <string>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct FirstTouch {
  std::string site;  // the nearest function of the program's own code (waits/wait_site.h)
  double share = 0;  // of the pages without a file on a disk that were touched first
};

// In the second half of the selected time: what a program sets up when it starts is no growth. nullopt: no function touches
// most of them, or too few faults are known.
std::optional<FirstTouch> find_first_touch(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
