// Pressure (PSI): how much of the time tasks stalled on memory, CPUs or a disk, as the kernel counted it
// during the recording. It covers the target's control group or, if that has no figure, the whole machine:
// then other processes may be the cause.
#pragma once

#include <optional>

#include "analysis/core/selection.h"

namespace fathom::analysis {

// Shares of the time between the first and the last reading in the window, 0 to 1.
struct Stall {
  double some = 0;  // at least one task stood still
  double full = 0;  // all runnable tasks stalled at once: no work was done. Unknown for CPUs: 0
  bool of_machine = false;
  bool operator==(const Stall&) const = default;
};

// nullopt: it was not recorded, or was read less than twice in the window.
struct PressureView {
  std::optional<Stall> memory, cpu, io;
};

// Of several recorded processes, the highest: those of one control group say the same.
PressureView find_pressure(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
