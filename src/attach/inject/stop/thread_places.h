// Where the threads of a process are, seen from outside.
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

// Where the threads of a process are now, without stopping one.
Result<std::vector<ThreadPlace>> thread_places(int pid);

}  // namespace fathom::inject
