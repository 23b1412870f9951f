// Reasons why the threads of a process cannot be stopped now. Checked before each attempt: threads of a
// frozen control group do not stop, and waiting for each of them takes two seconds.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace fathom::inject {

struct Obstacle {
  enum class Kind : std::uint8_t {
    kNone,
    kDebugger,  // another process traces it: strace, gdb
    kFrozen,    // the freezer of its control group
  };
  Kind kind = Kind::kNone;
  int by = 0;  // kDebugger: the pid of that process
  bool operator==(const Obstacle&) const = default;
};

// Also kNone if the answer is unknown, or the process is gone.
Obstacle obstacle_of(int pid);
// The same, checking every thread: a debugger may trace only some of them.
Obstacle obstacle_of_threads(int pid);
// obstacle_of() as an error, with the remedy.
Result<> check_stoppable(int pid);

}  // namespace fathom::inject
