// A process beside the profiler that takes the heap tracer out of its targets if the profiler dies without
// having done so: by SIGKILL, by a signal that nobody handles, or by an error of its own. It needs nothing of
// the profiler, as the journal lies in the target.
//
// It has a session of its own, so that what kills the profiler's process group or closes its terminal does
// not reach it, and no descriptor but one, so that nobody waits for it at the end of a pipe. If it is killed
// as well, `fathom detach` remains.
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::inject {

class DetachGuardian {
 public:
  // Costs a fork. Only in a process that has one thread yet: the child runs ordinary code later on. The
  // earlier the less memory it keeps.
  static Result<DetachGuardian> start();
  DetachGuardian(DetachGuardian&& other) noexcept;
  DetachGuardian& operator=(DetachGuardian&&) = delete;
  ~DetachGuardian() { dismiss(); }

  // Before a tracer is placed in this process. Until dismiss(), our end takes out what is then in it: in the
  // very process, not in a later one of the same number. A guardian that is gone is no error.
  void watch(int pid);
  // It ends without doing anything. After all tracers were taken out.
  void dismiss();

  pid_t pid() const { return pid_; }

 private:
  DetachGuardian(pid_t pid, Fd channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_ = -1;
  Fd channel_;  // when the kernel closes it, we are gone
};

}  // namespace fathom::inject
