// A process beside the profiler that takes the heap tracer out of its targets if the profiler dies without
// having done so: by SIGKILL, by a signal that nobody handles, or by an error of its own. It needs nothing of
// the profiler, as the journal lies in the target.
//
// If it is killed as well, `fathom detach` remains.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/result.h"
#include "process/guardian_process.h"

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
  // It ends without doing anything. After all tracers were taken out.
  void dismiss();

  pid_t pid() const { return guardian_.pid(); }

 private:
  explicit DetachGuardian(process::GuardianProcess guardian) : guardian_(std::move(guardian)) {}
  process::GuardianProcess guardian_;
};

}  // namespace fathom::inject
