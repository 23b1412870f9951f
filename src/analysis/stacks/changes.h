// What moved between two looks at the same processes.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/stacks/look.h"

namespace fathom::stacks {

struct Changes {
  std::vector<std::size_t> moved;   // rows of the last look: threads that have run since the first
  std::vector<std::size_t> stayed;  // in the same wait ever since
  std::size_t started = 0, ended = 0;
};

// A thread has moved if the scheduler gave it a CPU, or, where that is not counted, if its stack is another one.
Changes compare(const Look& first, const Look& last);

}  // namespace fathom::stacks
