// How much to record to see a change of a given size: of the whole, and of a function.
#pragma once

#include <cstddef>

#include "analysis/diff/diff.h"

namespace fathom::analysis {

struct Power {
  double change = 0;  // as a fraction of the figure: 0.01
  double detected =
      0;  // the smallest change that these recordings show four times out of five, as a fraction of the
          // figure
  // To see `change`: this many times as long, on both sides; 0: no length is enough, because runs differ from
  // each other.
  double times_longer = 0;
  double seconds = 0;    // per side; 0 if the recordings have no times
  std::size_t runs = 0;  // of this length per side; 0: impractical (more than 1000)
};

// For a change with this figure and error, to be seen four times out of five if nothing else changes: uses
// the level of one figure among all judged ones, regardless of what these recordings showed.
Power power_of(const DiffReport& report, const Change& figure, double change);

}  // namespace fathom::analysis
