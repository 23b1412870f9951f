// Pressure (PSI): how much of the time tasks stood still for want of memory, of CPUs, of a disk, as the kernel counted it beside
// the recording. It is of the target's control group, or where that has no figure, of the whole machine: then others may be
// meant.
#pragma once

#include <optional>

#include "analysis/core/selection.h"

namespace fathom::analysis {

// Shares of the time between the first and the last reading in the window, 0 to 1.
struct Stall {
  double some = 0;  // at least one task stood still
  double full = 0;  // all that could run did at once: nothing was done. Not known of CPUs: 0
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
