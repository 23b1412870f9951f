// A program stopped at its first instruction: after the dynamic loader and before its own code (constructors
// run later; a static program has run nothing at all). The tracer then goes in as in any other process.
#pragma once

#include <functional>

#include "attach/inject/stop/guardian.h"
#include "base/address.h"
#include "base/result.h"

namespace fathom::inject {

// A child process at its program's entry, stopped as if by SIGSTOP and not traced. If the profiler is killed,
// it continues.
class Launched {
 public:
  Launched(Launched&& other) noexcept;
  Launched& operator=(Launched&&) = delete;
  ~Launched();  // lets it continue

  int pid() const { return pid_; }
  ProcessAddress entry() const { return entry_; }
  Result<> go();  // SIGCONT; returns at once if called twice

 private:
  friend Result<Launched> launch_to_entry(int pid, const std::function<Result<>()>& start);
  friend Result<Launched> hold_at_entry(int pid);
  Launched(int pid, ProcessAddress entry, Guardian guardian)
      : pid_(pid), guardian_(std::move(guardian)), entry_(entry) {}
  int pid_ = -1;
  Guardian guardian_;
  ProcessAddress entry_;
};

// `pid` is a child that waits before exec; `start` lets it continue to exec
// (session::LaunchedProcess::release) and is called from another thread. If exec fails, the error is that of
// `start`. kUnsupported for set-uid and set-gid programs and for those of another architecture: the child is
// then killed at its entry, having run nothing.
Result<Launched> launch_to_entry(int pid, const std::function<Result<>()>& start);

// `pid` was stopped by SIGSTOP when it executed a program, and has run none of it: advances it to the
// program's entry. On an error it continues, if it is alive.
Result<Launched> hold_at_entry(int pid);

}  // namespace fathom::inject
