// A helper process that lets a stopped target continue if the profiler is killed: SIGKILL cannot be handled,
// and a program that fathom has stopped would stay stopped forever.
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::inject {

class Guardian {
 public:
  // From now until dismiss(), if the profiler dies by any signal, the guardian sends SIGCONT to this process:
  // to this very one, not to a later one with the same pid. Costs a fork. May be called in a multi-threaded
  // process.
  static Result<Guardian> of(int pid);
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian() { dismiss(); }

  void dismiss();  // it exits without doing anything

 private:
  Guardian(pid_t pid, Fd alive) : pid_(pid), alive_(std::move(alive)) {}
  pid_t pid_ = -1;
  Fd alive_;  // our end of the pipe: when the kernel closes it, the profiler is gone
};

}  // namespace fathom::inject
