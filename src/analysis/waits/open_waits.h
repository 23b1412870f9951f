// Waits that a recording without its end does not hold: they went on when its last block was written, by a recorder that still
// runs or was killed. How long each thread waited in all is known, so their time is, and what they wait for is not.
#pragma once

#include "analysis/core/waits.h"

namespace fathom::analysis {

// ns, of all threads of the selection; 0 for a recording that has its end, and for a part of the time or of the stacks.
double find_open_waits(const Waits& waits, const Selection& selection);

}  // namespace fathom::analysis
