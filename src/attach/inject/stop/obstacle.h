// Why the threads of a process cannot be stopped now. Asked before each attempt: threads of a frozen control group do
// not stop, and to wait for each of them takes two seconds.
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
  int by = 0;  // kDebugger: that process
  bool operator==(const Obstacle&) const = default;
};

// kNone also if it cannot be told, or the process is gone.
Obstacle obstacle_of(int pid);
// The same, with a look at every thread: a debugger may trace some of them only.
Obstacle obstacle_of_threads(int pid);
// obstacle_of() as an error, with the remedy.
Result<> check_stoppable(int pid);

}  // namespace fathom::inject
