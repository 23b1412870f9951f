// Threads of a look with equal stacks.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/stacks/look.h"

namespace fathom::stacks {

struct Group {
  std::vector<std::size_t> threads;  // rows of Look::threads, the longest wait first
  bool idle = false;                 // an idle rule holds
};

// Those that are not idle first, then large ones first; the order of equal ones is that of their threads.
std::vector<Group> group_threads(const Look& look);

}  // namespace fathom::stacks
