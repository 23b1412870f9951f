// How much would have to be recorded to see a change of so many per cent: of the whole, and of a function of some size.
#pragma once

#include <cstddef>

#include "analysis/diff/diff.h"

namespace fathom::analysis {

struct Power {
  double change = 0;  // a part of the figure: 0.01
  double detected =
      0;  // the smallest change that these recordings show four times out of five, a part of the figure
  // To see `change`: so many times as long, both sides alike; 0: no length is enough, as runs differ among themselves.
  double times_longer = 0;
  double seconds = 0;    // per side; 0 if the recordings have no times
  std::size_t runs = 0;  // of this length per side; 0: beyond reason (more than 1000)
};

// For a change with this figure and error, four times out of five seen where nothing else changes: the level is that of one
// figure among all that are looked at, whatever these recordings happened to find.
Power power_of(const DiffReport& report, const Change& figure, double change);

}  // namespace fathom::analysis
