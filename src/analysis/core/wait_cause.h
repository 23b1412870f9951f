// What a wait was for, from its facts: the system call and its argument, the state of the task, the object,
// and the names of the kernel frames on its stack. Nothing is guessed: what fits no rule is kUnknown.
// Sources: man 2 futex, epoll_wait, ...; names of kernel functions as of Linux 5.10 to 6.18.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

enum class Cause : std::uint8_t {
  kFutex,   // a lock, a condition variable, a join: user space's own synchronisation
  kPoll,    // epoll, poll, select; reading an eventfd, a timerfd, a signalfd or inotify
  kSleep,   // nanosleep and similar calls
  kSignal,  // sigwait, sigsuspend, pause
  kPipe,
  kSocket,
  kFileRead,
  kFileWrite,  // also truncating and allocating
  kFileSync,   // fsync, fdatasync, msync, sync
  kFileLock,   // flock, fcntl
  kFileOther,  // opening, executing, renaming, deleting, listing ...
  kIoUring,
  kAsyncIo,  // io_getevents: the older way to wait for completions
  kPageFault,
  kMemoryMap,  // changing the address space, or waiting for its lock
  kChild,
  kIpc,        // System V and POSIX queues and semaphores of the kernel
  kWriteback,  // the kernel slows a writer down until dirty pages are written
  kReclaim,    // memory is short: the thread frees some first
  kThrottled,  // the CPU quota of its cgroup is used up
  kStopped,
  kTraced,
  kExit,
  kRunQueue,  // it could run and had no CPU
  kUnknown,
};
inline constexpr std::size_t kCauseCount = static_cast<std::size_t>(Cause::kUnknown) + 1;

// "futex", "page-fault", ...: for scripts and rules. Stable.
std::string_view to_string(Cause cause);
// "futex wait", "page fault", "run queue": for people.
std::string_view describe(Cause cause);
// "[wait: futex]", "[run queue]": the frame above the leaf of a stack that waited.
std::string_view frame_of(Cause cause);
std::optional<Cause> cause_of_frame(std::string_view frame);

// How a futex was waited for: "wait", "wait-bitset", "lock-pi", "wait-requeue-pi", "waitv", or "".
struct FutexUse {
  std::string_view operation;
  bool is_private = false;  // known to one process only
};
FutexUse futex_use(const model::Wait& wait);

// Finds the causes of the waits of one profile; reads its kernel frames once. `profile` outlives it and does
// not change.
class WaitCauses {
 public:
  explicit WaitCauses(const model::Profile& profile);
  // Of Wait::waited_ns.
  Cause of(const model::Wait& wait) const;
  // It is known that a point in time ended it and nothing else: a sleep, a timer that is read, a poll that ran into its timeout.
  bool is_ended_by_timer(const model::Wait& wait) const;
  // Of Wait::queued_ns: kRunQueue or kThrottled.
  Cause of_queue(const model::Wait& wait) const;
  // With the object, as far as known: "page fault in mdbx.dat", "fsync of /data/x", "wait for
  // socket 10.0.0.1:80".
  std::string label(const model::Wait& wait) const;

 private:
  bool has(const model::Wait& wait, std::uint32_t hint) const {
    return (hints_[wait.stack.value] & hint) != 0;
  }
  const model::Profile& profile_;
  std::vector<std::uint32_t> hints_;  // per stack: bits of what its kernel frames say
};

// Every wait needs the name of its call, and a switch over names is no switch: looked up once per number.
Cause cause_of_call(std::int32_t system_call);

}  // namespace fathom::analysis
