// System calls made by a thread of the target, on our behalf. The thread is stopped, its registers are
// replaced, it runs one borrowed `syscall` instruction for each call, and is put back. Only raw system calls:
// no function of the target is called, so no lock of an allocator or a loader can be waited for.
//
// Syscall stops and no single steps: a step ends in a SIGTRAP, which would reset a target's own disposition
// of that signal. All signals are blocked meanwhile and stay, with all that is known about them, with the
// kernel.
//
// If the profiler is killed in between, the kernel lets the thread go with the borrowed registers. They are
// such that it finds back: after the `syscall` comes a `ret`, to an rt_sigreturn, and below the red zone of
// the thread's stack stands what the kernel would have left there for a signal handler: its registers, mask
// and vector registers. Its priority, which is raised meanwhile, it puts back by itself on the way. Where the
// target's code has no such instructions the calls are made without this net.
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
  // another thread may have.
  static Result<RemoteCaller> borrow(StoppedThread& thread, const RemoteMemory& memory,
                                     const Gadgets& gadgets, std::span<const process::MapEntry> maps);
  RemoteCaller(RemoteCaller&& other) noexcept;
  RemoteCaller& operator=(RemoteCaller&&) = delete;
  ~RemoteCaller() { give_back(); }

  // What the kernel answered. kSystem and `errno` in the text for -errno; `what` names the call.
  Result<std::uint64_t> call(std::string_view what, long number,
                             std::initializer_list<std::uint64_t> arguments);
  // The address in the target of a short text, for one call.
  Result<std::uint64_t> text(std::string_view value);

  void give_back();

 private:
  RemoteCaller(StoppedThread& thread, const RemoteMemory& memory, const Gadgets& gadgets)
      : thread_(&thread), memory_(&memory), gadgets_(&gadgets) {}
  Result<> run_to_stop(int request, int wanted_signal, int wanted_event);

  StoppedThread* thread_;
  const RemoteMemory* memory_;
  const Gadgets* gadgets_;
  arch::UserRegisters own_{};  // as the thread goes on with
  std::uint64_t mask_ = 0;
  std::uint64_t frame_ = 0, scratch_ = 0;
  bool raised_ = false;
  bool gone_ = false;
};

// The thread is on borrowed registers: its profiler died, and it has not come back yet.
bool is_borrowed(const StoppedThread& thread, const RemoteMemory& memory, const Gadgets& gadgets);

// A thread to borrow, best first: those that wait in a call which the kernel restarts by itself, then other
// waiting ones, then the rest; among equals those that ran least often, as they serve nobody. Threads with children come
// after all others: the SIGCHLD of a child whose parent is traced interrupts a thread that has nothing to do with it
// (thread_stop.h).
std::vector<int> by_idleness(int pid);

// PTRACE_O_* for a thread that makes calls: `seccomp` as in /proc/PID/status.
unsigned caller_options(int seccomp);

}  // namespace fathom::inject
