// The process that a tracer goes into: who may be traced, and what all steps need of it.
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

// The program that a process runs: another one after exec, perhaps with other rights.
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

  // Refuses, with a remedy, what cannot be traced; touches nothing.
  static Result<Target> open(int pid);
  // Lets `calls` make system calls in an idle thread, the only one that stops. `calls` runs at most once.
  // kNotFound if the process runs another program by now: what we know about addresses is of the one before,
  // and a set-uid program must not be told to map and unmap by who started it.
  Result<> borrow_thread(const std::function<Result<>(StoppedThread&, RemoteCaller&)>& calls);
  // Lets `writes` write where the program itself cannot. Where the kernel allows that to a tracer only, an idle thread
  // stands still meanwhile. Not while threads are stopped: then memory.write() does. `writes` runs at most once.
  Result<> while_writable(const std::function<Result<>()>& writes);

 private:
  // `work` says by `ran` that no other thread shall be tried.
  Result<> stop_one(unsigned options, const std::function<Result<>(StoppedThread&, bool& ran)>& work);
};

// Its program is for the processor that the tracer is for.
Result<> check_machine(int pid);
// Everything that Target::open() refuses for, but for a tracer that is in already.
Result<> check_traceable(int pid);

}  // namespace fathom::inject
