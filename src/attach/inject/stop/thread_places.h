// The positions of a process's threads, seen from outside.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::inject {

// One thread, for --dry-run.
struct ThreadPlace {
  int tid = 0;
  std::string what;  // "running" or "in system call 232"
  bool idle = false;
};

// The current positions of a process's threads, without stopping any.
Result<std::vector<ThreadPlace>> thread_places(int pid);

}  // namespace fathom::inject
