// What one run used in all, by clocks and counters of the kernel: nothing of it is sampled, and losses of samples do not touch
// it. Totals of a comparison come from here; samples only divide them.
#pragma once

#include <optional>

#include "analysis/diff/diff_run.h"

namespace fathom::analysis {

struct Measured {
  double value = 0;
  double spread = 0;  // standard deviation of the clock or counter, as a part of the value
};

// CPU time in ns, of the threads that the selection takes. Nothing where clocks do not say it: a part of the time, chosen
// stacks, imported files, processes too short for the kernel to have booked them, a wait of unknown length of the first clock.
std::optional<Measured> measured_cpu_ns(const DiffRun& run);

// How long the recording of the selection lasted, in ns. Of merged recordings that is not the time between their ends.
std::optional<Measured> measured_wall_ns(const DiffRun& run);

// ln of how many times as much CPU time a run could have used on a free machine: of the time in which its threads could run,
// they had a CPU for only a part.
double starvation_of(const DiffRun& run);

}  // namespace fathom::analysis
