// Some sources know the order of their moments and no times. Each moment then stands for a second, and whoever says how
// long a recording is says that too.
#pragma once

namespace fathom::model {

// Of meta.facts: what stands for a second, "snapshot" or "dump". Not there: times are times.
inline constexpr const char* kStepsFact = "a second stands for";

}  // namespace fathom::model
