// --metric latency: CPU time divided by the number of threads that ran at the same moment. A function that runs alone counts in full,
// one that runs on eight threads at once counts for an eighth: what is left is how much each function adds to the time that the
// program takes, as perf report --latency estimates it. The numbers of all functions add up to the time in which anything ran.
#pragma once

#include "model/profile.h"

namespace fathom::analysis {

// Weighs the CPU samples of `profile`: their values become nanoseconds. The number of threads comes from the waits, which say exactly
// when each thread ran; if more than a twentieth of the waiting was not recorded wait by wait, from the samples of the same moment.
// False if there are no CPU samples of known length; then nothing changes.
bool weigh_by_parallelism(model::Profile& profile);

}  // namespace fathom::analysis
