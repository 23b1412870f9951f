// A process next to the profiler that takes the heap tracer out of its targets if the profiler dies first: by
// SIGKILL, by an unhandled signal, or by an error of its own. It also stays if the profiler exits normally
// but a target is not fully restored, and tries until that target is restored or gone. It needs nothing from
// the profiler, because the journal is in the target.
//
// If it is killed as well, `fathom detach` remains as a remedy.
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
  // Like process::GuardianProcess::start().
  static Result<DetachGuardian> start();
  DetachGuardian(DetachGuardian&&) noexcept = default;
  DetachGuardian& operator=(DetachGuardian&&) = delete;
  ~DetachGuardian() { dismiss(); }

  // Call before placing a tracer in this process. Until dismiss(), when the profiler dies, the guardian
  // removes the tracer: from this very process, not from a later one with the same pid. It is no error if the
  // guardian is gone.
  void watch(int pid);
  // It exits without doing anything if all targets are restored. Otherwise it stays and removes what is left.
  void dismiss();
  // Targets that still contain parts of a tracer.
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
