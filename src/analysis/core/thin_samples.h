// Fewer samples for a viewer that cannot take all of them. Each of those that stay stands for its neighbours in time.
#pragma once

#include <cstddef>

#include "model/profile.h"

namespace fathom::analysis {

// Keeps at most `most` samples, of each run of neighbours one that is chosen in proportion to its value, with the value of all of
// them: the total stays what it was, and shares have the error of so many samples. Equal inputs give equal results. Adds a note to
// the profile. Returns how many samples one stands for; 1: there were no more than that. `most` is at least 1.
std::size_t thin_samples(model::Profile& profile, std::size_t most);

}  // namespace fathom::analysis
