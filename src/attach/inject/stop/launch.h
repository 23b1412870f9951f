// A program stopped at its very first instruction: after the dynamic loader and before its own code
// (constructors run later; a static program has run nothing at all). The tracer then goes in as into any
// other process.
#pragma once

#include <functional>

#include "attach/inject/stop/guardian.h"
#include "base/address.h"
#include "base/result.h"

namespace fathom::inject {

// A child of ours at its program's entry, stopped as by SIGSTOP and traced by nobody. If we are killed it
// goes on.
class Launched {
 public:
  Launched(Launched&& other) noexcept;
  Launched& operator=(Launched&&) = delete;
  ~Launched();  // lets it go

  int pid() const { return pid_; }
  ProcessAddress entry() const { return entry_; }
  Result<> go();  // SIGCONT; at once if called twice

 private:
  friend Result<Launched> launch_to_entry(int pid, const std::function<Result<>()>& start);
  friend Result<Launched> hold_at_entry(int pid);
  Launched(int pid, ProcessAddress entry, Guardian guardian)
      : pid_(pid), guardian_(std::move(guardian)), entry_(entry) {}
  int pid_ = -1;
  Guardian guardian_;
  ProcessAddress entry_;
};

// `pid` is a child that waits before exec; `start` lets it go on to exec (session::LaunchedProcess::release)
// and is called from another thread. If exec fails, the error is that of `start`. kUnsupported for set-uid
// and set-gid programs and for those of another architecture: the child then stands at its entry and is
// killed, having run nothing.
Result<Launched> launch_to_entry(int pid, const std::function<Result<>()>& start);

// `pid` was stopped by SIGSTOP when it executed a program, and has run nothing of it: it is led on to its
// program's entry. An error: it goes on, if it lives.
Result<Launched> hold_at_entry(int pid);

}  // namespace fathom::inject
