// Recordings of whole machines by other tools have samples of CPUs that had nothing to do: of the kernel's idle task, which Linux
// calls swapper and numbers 0. They are no work of anybody: they are counted and left out. What interrupts did while a CPU was
// idle is work, and stays.
#pragma once

#include "model/profile.h"

namespace fathom::formats {

// Also notes how many there were, and in ImportFacts::idle_samples. The threads stay, with what is left of them.
void leave_out_idle_cpus(model::Profile& profile);

}  // namespace fathom::formats
