// System calls that a thread of the target makes for fathom. fathom stops the thread, replaces its registers,
// lets it run one borrowed `syscall` instruction for each call, and restores it. Only raw system calls: it
// calls no function of the target, so it cannot wait for a lock of an allocator or a loader.
//
// Uses syscall stops instead of single steps: a step ends in a SIGTRAP, which would reset a target's own
// disposition of that signal. All signals are blocked in the meantime and stay pending in the kernel with all
// their data.
//
// If the profiler is killed in between, the kernel resumes the thread with the borrowed registers. They are
// set so that it returns to its own code: after the `syscall` comes a `ret`, to an rt_sigreturn, and below
// the red zone of the thread's stack is the frame that the kernel would have left there for a signal handler:
// its registers, mask and vector registers. On the way the thread also restores its priority, which was
// raised. If the target's code has no such instructions, the calls are made without this safety net.
#pragma once

#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "attach/inject/stop/gadgets.h"
#include "attach/inject/stop/thread_stop.h"
#include "linux/process/maps.h"

namespace fathom::inject {

class RemoteCaller {
 public:
  // `thread` is stopped and stays so; all arguments outlive the caller. Fails if its stack has no room:
  // another thread may have some.
  static Result<RemoteCaller> borrow(StoppedThread& thread, const RemoteMemory& memory,
                                     const Gadgets& gadgets, std::span<const process::MapEntry> maps);
  RemoteCaller(RemoteCaller&& other) noexcept;
  RemoteCaller& operator=(RemoteCaller&&) = delete;
  ~RemoteCaller() { give_back(); }

  // The kernel's result. kSystem with `errno` in the text for -errno; `what` names the call.
  Result<std::uint64_t> call(std::string_view what, long number,
                             std::initializer_list<std::uint64_t> arguments);
  // Writes a short text into the target, for one call, and returns its address.
  Result<std::uint64_t> text(std::string_view value);

  void give_back();

 private:
  RemoteCaller(StoppedThread& thread, const RemoteMemory& memory, const Gadgets& gadgets)
      : thread_(&thread), memory_(&memory), gadgets_(&gadgets) {}
  Result<> run_to_stop(int request, int wanted_signal, int wanted_event);

  StoppedThread* thread_;
  const RemoteMemory* memory_;
  const Gadgets* gadgets_;
  arch::UserRegisters own_{};  // the thread's own registers, to be restored
  std::uint64_t mask_ = 0;
  std::uint64_t frame_ = 0, scratch_ = 0;
  bool raised_ = false;
  bool gone_ = false;
};

// The thread has borrowed registers: its profiler died, and it has not returned yet.
bool is_borrowed(const StoppedThread& thread, const RemoteMemory& memory, const Gadgets& gadgets);

// Threads to borrow, best first: those waiting in a call that the kernel restarts automatically, then other
// waiting ones, then the rest; among equals those that ran least often, because they serve no requests.
// Threads with children come last: the SIGCHLD of a child whose parent is traced interrupts an unrelated
// thread (thread_stop.h).
std::vector<int> by_idleness(int pid);

// PTRACE_O_* for a thread that makes calls: `seccomp` as in /proc/PID/status.
unsigned caller_options(int seccomp);

}  // namespace fathom::inject
