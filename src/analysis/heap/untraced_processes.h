// Processes that a process whose heap was traced has forked, whenever, and theirs, of which there is no heap.
#pragma once

#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct UntracedProcesses {
  std::size_t count = 0;
  std::vector<std::string> names;  // each once, that of most CPU time first
  bool empty() const { return count == 0; }
};

// None where one process is selected.
UntracedProcesses untraced_processes(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
