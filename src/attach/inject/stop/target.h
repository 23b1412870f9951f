// The process that the tracer goes into: whether it may be traced, and the data that all steps need.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "attach/inject/stop/gadgets.h"
#include "attach/inject/stop/remote_call.h"
#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/stop/stops.h"
#include "base/result.h"

namespace fathom::inject {

// The program that a process runs: a different one after exec, perhaps with other rights.
struct Program {
  std::uint64_t start_ticks = 0;  // of the process
  std::uint64_t device = 0, inode = 0;
  bool operator==(const Program&) const = default;
};
Program program_of(int pid);

struct Target {
  int pid;
  RemoteMemory memory;
  Gadgets gadgets;
  int seccomp;         // as in /proc/PID/status
  Program program;     // when it was opened
  bool forced_writes;  // see kernel_forces_writes()
  Stops stops;

  // Rejects, with a remedy, a process that cannot be traced; changes nothing.
  static Result<Target> open(int pid);
  // Lets `calls` make system calls in an idle thread, the only one that stops. `calls` runs at most once.
  // kNotFound if the process now runs another program: the known addresses are those of the old one, and a
  // user must not make a set-uid program map and unmap memory.
  Result<> borrow_thread(const std::function<Result<>(StoppedThread&, RemoteCaller&)>& calls);
  // Lets `writes` write where the program itself cannot. If the kernel only allows that to a tracer, an idle
  // thread is stopped in the meantime. Not for use while threads are stopped: memory.write() works then.
  // `writes` runs at most once.
  Result<> while_writable(const std::function<Result<>()>& writes);

 private:
  // `work` sets `ran` if no other thread should be tried.
  Result<> stop_one(unsigned options, const std::function<Result<>(StoppedThread&, bool& ran)>& work);
};

// Checks that the program is for the tracer's processor architecture.
Result<> check_machine(int pid);
// All reasons for which Target::open() rejects a process, except a tracer that is already in it.
Result<> check_traceable(int pid);

}  // namespace fathom::inject
