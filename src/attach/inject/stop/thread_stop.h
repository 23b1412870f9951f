// Threads of another process, stopped and let go. Whatever happens, they go on: the destructor detaches, and
// all of it runs in a tracing thread (in_tracing_thread), whose end makes the kernel detach what we could
// not. No PTRACE_O_EXITKILL: the target outlives us.
//
// A stop is not seen by the program. System calls that the kernel restarts are restarted; those that it would
// end with EINTR, although no signal came, are started again by us (base/arch/restart.h). Signals that come
// meanwhile stay with the kernel until the thread goes on.
//
// The kernel drops a signal that the program ignores, but not while the thread that it is for is traced (Linux
// kernel/signal.c, sig_ignored): then it wakes another thread, whose epoll_wait ends with EINTR although no handler runs.
// SIGCHLD is for the thread that made the child. So a thread with children is borrowed only where no other is there, and
// of all threads those with children are let go first. A child that is made between a look for it and the stop can still
// have that effect.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attach/inject/stop/raised_priority.h"
#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/stop/stops.h"
#include "base/address.h"
#include "base/arch/user_registers.h"
#include "base/result.h"

namespace fathom::inject {

struct StoppedThread {
  int tid = 0;
  arch::UserRegisters registers{};  // at the stop; what the thread goes on with if `changed`
  bool changed = false;
  // In an uninterruptible wait of the kernel: it cannot be asked to stop, and cannot reach user mode either
  // without stopping first. Only pc and sp are known.
  bool away = false;
  bool parent = false;    // of processes that are still there
  bool ordinary = false;  // to the scheduler: it may come in front of the others, and be put back exactly
  bool borrowed =
      false;  // its signal mask was changed and put back: interrupted calls are always started again
  bool mask_lost = false;  // it was changed, and could not be put back
};

class StoppedThreads {
 public:
  // All threads, also those born meanwhile. Only within in_tracing_thread(). `memory` and `stops` outlive the
  // object.
  static Result<StoppedThreads> all(int pid, const RemoteMemory& memory, Stops& stops);
  // One thread, with PTRACE_O_* `options` beside PTRACE_O_TRACESYSGOOD.
  static Result<StoppedThreads> one(int pid, int tid, const RemoteMemory& memory, Stops& stops,
                                    unsigned options);

  StoppedThreads(StoppedThreads&& other) noexcept;
  StoppedThreads& operator=(StoppedThreads&&) = delete;
  ~StoppedThreads() { resume(); }

  std::vector<StoppedThread>& threads() { return threads_; }
  void resume();
  // Gives a stopped thread its registers before it goes on: for what must hold even if we do not live to let
  // it go.
  Result<> set_registers_now(const StoppedThread& thread);

 private:
  enum class Kind : std::uint8_t { kOne, kAll };
  StoppedThreads(int pid, Kind kind, const RemoteMemory& memory, Stops& stops)
      : pid_(pid), kind_(kind), memory_(&memory), stops_(&stops) {}
  Result<bool> seize(int tid, unsigned options);
  Result<> interrupt_and_wait(const std::vector<int>& tids);
  bool interrupt(int tid, bool raise);
  void put_back(int tid);
  void took_note(int tid, int status, std::vector<int>& waiting);
  void look_for_absent(std::vector<int>& waiting);
  void let_go(StoppedThread& thread);

  int pid_;
  Kind kind_;
  const RemoteMemory* memory_;
  Stops* stops_;
  std::vector<StoppedThread> threads_;
  std::unordered_set<int> raised_;   // threads in front of the ordinary ones
  std::unordered_set<int> parents_;  // threads with children, as seen before they were asked to stop
  std::uint64_t began_ns_ = 0;
};

// Runs `work` in a thread that ends with it, and gives its result back.
template <class Work>
auto in_tracing_thread(Work work) {
  return std::async(std::launch::async, std::move(work)).get();
}

}  // namespace fathom::inject
