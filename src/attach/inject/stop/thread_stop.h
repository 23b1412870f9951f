// Stops the threads of another process and lets them continue. They continue in any case: the destructor
// detaches, and everything runs in a tracing thread (in_tracing_thread); when it ends, the kernel detaches
// the rest. No PTRACE_O_EXITKILL: the target outlives us.
//
// The program does not notice a stop. The kernel restarts most system calls; fathom restarts those that would
// end with EINTR although no signal came (base/arch/restart.h). Signals that arrive in the meantime stay pending
// until the thread continues.
//
// The kernel drops a signal that the program ignores, but not while its thread is traced (Linux
// kernel/signal.c, sig_ignored): then it wakes another thread, whose epoll_wait ends with EINTR although no
// handler runs. SIGCHLD goes to the thread that created the child. So fathom borrows a thread with children
// only if there is no other, and releases threads with children first. A child created between the check and
// the stop can still have that effect.
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
  arch::UserRegisters registers{};  // at the stop; the thread continues with these if `changed`
  bool changed = false;
  // In an uninterruptible wait in the kernel: it cannot stop, but cannot reach user mode without stopping
  // first either. Only pc and sp are known.
  bool away = false;
  bool parent = false;     // of processes that still exist
  bool ordinary = false;   // to the scheduler: its priority may be raised and exactly restored
  bool borrowed = false;   // its signal mask was changed and restored: interrupted calls are always restarted
  bool mask_lost = false;  // it was changed and could not be restored
};

class StoppedThreads {
 public:
  // All threads, including new ones. Only within in_tracing_thread(). `memory` and `stops` outlive the
  // object.
  static Result<StoppedThreads> all(int pid, const RemoteMemory& memory, Stops& stops);
  // One thread, with PTRACE_O_* `options` in addition to PTRACE_O_TRACESYSGOOD.
  static Result<StoppedThreads> one(int pid, int tid, const RemoteMemory& memory, Stops& stops,
                                    unsigned options);

  StoppedThreads(StoppedThreads&& other) noexcept;
  StoppedThreads& operator=(StoppedThreads&&) = delete;
  ~StoppedThreads() { resume(); }

  std::vector<StoppedThread>& threads() { return threads_; }
  void resume();
  // Sets a stopped thread's registers immediately: for changes that must last even if this process dies
  // before it releases the thread.
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
  std::unordered_set<int> raised_;   // threads with raised priority
  std::unordered_set<int> parents_;  // threads with children, as seen before they were stopped
  std::uint64_t began_ns_ = 0;
};

// Runs `work` in a thread of its own, and returns its result.
template <class Work>
auto in_tracing_thread(Work work) {
  return std::async(std::launch::async, std::move(work)).get();
}

}  // namespace fathom::inject
