// A process next to the profiler that takes the heap tracer out of its targets if the profiler dies without having done
// so: by SIGKILL, by a signal that nobody handles, or by an error of its own. It also stays when the profiler ends in
// order and a target is not as it was, and tries until that target is free or gone. It needs nothing of the profiler, as
// the journal lies in the target.
//
// If it is killed as well, `fathom detach` remains.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/process/guardian_process.h"

namespace fathom::inject {

class DetachGuardian {
 public:
  // As process::GuardianProcess::start().
  static Result<DetachGuardian> start();
  DetachGuardian(DetachGuardian&&) noexcept = default;
  DetachGuardian& operator=(DetachGuardian&&) = delete;
  ~DetachGuardian() { dismiss(); }

  // Before a tracer is placed in this process. Until dismiss(), our end takes out what is then in it: in the
  // very process, not in a later one of the same number. A guardian that is gone is no error.
  void watch(int pid);
  // It ends without doing anything if all targets are as they were. Else it stays behind and takes out what is left.
  void dismiss();
  // Targets in which something of a tracer is left.
  std::vector<int> left() const;

  pid_t pid() const { return guardian_.pid(); }

 private:
  explicit DetachGuardian(process::GuardianProcess guardian) : guardian_(std::move(guardian)) {}
  process::GuardianProcess guardian_;
  struct Watched {
    int pid;
    std::uint64_t start_ticks;
  };
  std::vector<Watched> watched_;
};

}  // namespace fathom::inject
