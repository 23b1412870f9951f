// Samples of CPUs without work that a reader left out of a recording of a whole machine.
#pragma once

namespace fathom::model {

// meta.facts: how many there were.
inline constexpr const char* kIdleSamplesFact = "idle_samples";

}  // namespace fathom::model
