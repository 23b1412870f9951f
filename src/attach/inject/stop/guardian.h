// A process that lets a stopped target go on if we are killed: SIGKILL asks nobody, and a program that we
// stopped would stand still for good.
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::inject {

class Guardian {
 public:
  // From now on until dismiss(), our end by any signal sends SIGCONT to this process: the very one, not a
  // later one of the same number. Costs a fork. May be called in a process of many threads.
  static Result<Guardian> of(int pid);
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian() { dismiss(); }

  void dismiss();  // it ends without doing anything

 private:
  Guardian(pid_t pid, Fd alive) : pid_(pid), alive_(std::move(alive)) {}
  pid_t pid_ = -1;
  Fd alive_;  // we hold the one end: when the kernel closes it, we are gone
};

}  // namespace fathom::inject
