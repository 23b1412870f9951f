// A run's totals, from clocks and counters of the kernel: they do not depend on sampling, and lost samples do
// not affect them. The totals of a comparison come from here; samples only divide them among functions.
#pragma once

#include <optional>

#include "analysis/diff/diff_run.h"

namespace fathom::analysis {

struct Measured {
  double value = 0;
  double spread = 0;  // standard deviation of the clock or counter, as a fraction of the value
};

// CPU time in ns, of the threads in the selection. nullopt if clocks do not measure it: part of the time, a
// selection of stacks, imported files, processes too short for the kernel's accounting, or an unknown delay
// before the first clock reading.
std::optional<Measured> clock_cpu_ns(const DiffRun& run);
// The same if samples can divide it among functions: nullopt if some of the threads cannot be sampled.
std::optional<Measured> measured_cpu_ns(const DiffRun& run);

// Duration of the recording within the selection, in ns. For merged recordings that is less than the time
// from the first start to the last end.
std::optional<Measured> measured_wall_ns(const DiffRun& run);

// ln of the factor by which the run's CPU time could have been larger on a free machine: its threads got a
// CPU for only a part of the time when they could run.
double starvation_of(const DiffRun& run);

// ln of the factor by which the run could have been shorter on a free machine: by the time that its threads
// waited for a CPU, and no more.
double delay_of(const DiffRun& run);

}  // namespace fathom::analysis
