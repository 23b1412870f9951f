// What all threads of some processes did at one moment. Plain values: src/tools/stacks/live fills them from /proc, the rest of this
// folder works out what each thread waits for, who can end the wait, and what follows from all of them together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "analysis/waits/wait_site.h"
#include "model/profile.h"

namespace fathom::stacks {

enum class State : std::uint8_t {
  kWaits,    // blocked in a system call or a page fault
  kRuns,     // on a CPU, or waiting for one
  kStopped,  // by a signal or a debugger
  kExiting,
  kUnknown,  // the kernel does not show it to this user
};

// What shows who can end a wait. All of these are facts of the kernel or of the C library, none is a guess.
enum class Evidence : std::uint8_t {
  kNone,
  kOwnerField,  // pthread_mutex_t and pthread_rwlock_t keep the owner's number
  kLockWord,    // the word of a robust or priority-inheriting mutex holds it
  kThreadEnd,   // pthread_join waits at the number of the thread that is to end
  kFileLocks,   // the kernel's list of file locks
  kChild,       // the argument of wait()
};

// What is awaited is the end of a thread or of a process, and nothing that it holds.
constexpr bool is_of_an_end(Evidence evidence) {
  return evidence == Evidence::kThreadEnd || evidence == Evidence::kChild;
}

struct Holder {
  enum class Kind : std::uint8_t {
    kUnknown,
    kThread,   // a thread of the look
    kProcess,  // another process, or a thread of one
    kExited,   // no thread has the number now
  };
  Kind kind = Kind::kUnknown;
  Evidence evidence = Evidence::kNone;
  std::int32_t tid = 0;  // as we number it; of an exited one as the program does
  std::int32_t pid = 0;
  std::string name;        // of another process
  std::size_t thread = 0;  // kThread: row of Look::threads
  bool operator==(const Holder&) const = default;
};

// How the code around the wait makes its locks.
enum class LockFamily : std::uint8_t {
  kUnknown,
  kPthreadMutex,
  kPthreadRwlock,
  kRust,        // std::sync: the word has no owner
  kParkingLot,  // threads wait at words of their own
};

// What a thread waits for.
struct Awaited {
  analysis::Cause cause = analysis::Cause::kUnknown;
  analysis::FutexKind futex = analysis::FutexKind::kLock;  // of cause kFutex
  LockFamily family = LockFamily::kUnknown;
  std::uint64_t address =
      0;  // of the lock or the futex word, in the process; 0: there is none, or it is unknown
  bool process_private = true;
  bool has_timeout = false;  // the wait ends without anyone's help
  std::string
      object;  // "fsync of /data/x", "socket 10.0.0.1:443": the cause with what is known about its object
};

// Where in the program's own code a thread is.
struct Place {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
};

struct ThreadLook {
  std::int32_t pid = 0, tid = 0;
  std::string name;
  State state = State::kUnknown;
  model::StackId stack;
  model::WalkEnd end = 0;
  std::optional<std::uint32_t> wait;            // row of Profile::waits
  std::array<std::uint64_t, 4> arguments = {};  // of the system call
  std::optional<std::uint64_t> waited_ns;       // since it last ran
  std::uint64_t slices = 0;  // how often it was given a CPU: unchanged means that it has not run since
  // Of a core file: the signal that the thread got last, and its registers by name.
  std::int32_t signal = 0;
  std::vector<std::pair<std::string, std::uint64_t>> registers;
  // Worked out by describe() and find_holders():
  Awaited awaited;
  Place place;
  std::string idle;  // the idle rule that holds: "redis event loop"
  Holder holder;
};

struct Target {
  std::int32_t pid = 0;
  std::string name;
  bool stopped = false;         // by a signal, or frozen
  std::int32_t tracer_pid = 0;  // a debugger
};

enum class Finding : std::uint8_t {
  kDeadlock,       // threads: the cycle, each waits for what the next one holds; the last for the first
  kHolderExited,   // threads: waiters of one lock, whose holder is no thread any more
  kPoolExhausted,  // threads: all of one pool, each inside of a job that waits for another job's result
  kLikelyDeadlock,  // threads: waiters of several locks that keep no holder, while all other threads are at rest
  kHolderWaits,     // threads: waiters of one lock; chain: the holder, what it waits for, and so on
  kHolderRuns,      // the same, and the chain ends at a thread that runs
  kHolderElsewhere,  // the chain ends in another process
  kHolderUnknown,    // waiters of one lock; nothing shows who holds it
  kStopped,          // the process was stopped; threads: those of it
  kRuns,             // threads that run
  kKernel,           // threads that cannot be interrupted: they wait for a device or a file system
  kWaits,            // threads that wait for other threads or answers; nothing shows that they are idle
  kIdle,             // threads that wait for work, for time or for input
};

struct Verdict {
  Finding finding = Finding::kIdle;
  std::vector<std::size_t> threads;  // rows of Look::threads
  std::vector<std::size_t> chain;
  std::size_t behind = 0;  // further threads that wait for one of these
  bool may_end = false;    // a timeout of one of them ends it
};

// The stacks and names are in a profile that several looks share.
struct Look {
  std::uint64_t time_ns = 0, took_ns = 0;
  bool is_core = false;          // of a process that is gone
  std::int32_t core_signal = 0;  // that ended it; 0: none
  std::vector<Target> targets;
  std::vector<ThreadLook> threads;  // in the order of (pid, tid)
  std::vector<Verdict> verdicts;    // what it means, most important first (verdict.h)
  bool lacks_names = false;         // reading some of them took too long
  std::vector<std::string> notes;   // what could not be seen, and why
};

}  // namespace fathom::stacks
