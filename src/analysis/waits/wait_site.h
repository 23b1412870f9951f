// The place in the program's own code that a stack stands for: "waits in Db::commit", not in
// pthread_cond_wait. The innermost frame that belongs to no language's library, no lock's implementation and
// not to the kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/core/own_code.h"
#include "analysis/core/shown_calls.h"
#include "model/profile.h"

namespace fathom::analysis {

// What a thread waits for at a futex, by the functions around it.
// Only the first two have a holder: the others wait for another thread to do something.
enum class FutexKind : std::uint8_t {
  kLock,
  kReaderWriter,
  kCondition,
  kSemaphore,
  kBarrier,
  kPark,
  kJoin,
  kChannel,
};
// "lock", "rwlock", "condition", "semaphore", "barrier", "park", "join", "channel"
std::string_view to_string(FutexKind kind);

// Remembers what it found. `profile` and `choice` outlive it and do not change.
class WaitSites {
 public:
  // `choice` says which calls are shown (ShownCalls); what a wait is follows from all of them.
  explicit WaitSites(const model::Profile& profile, const StackChoice* choice = nullptr)
      : profile_(profile),
        shown_(profile, choice),
        own_code_(profile),
        known_(profile.stacks.size()),
        of_line_(profile.lines.size(), Whose::kNotAsked) {}
  // The nearest function of the own code (own_code.h), else of a package that was linked in, else of a runtime in
  // the program, else the innermost user frame, else the outermost frame. "[no stack]" for stack 0.
  const std::string& of(model::StackId stack);

  // What a wait is named by: the place that waits, or, where its stack has no own code (a task that an executor runs, a
  // pool), the own code of the thread that ended it.
  struct Place {
    std::string name;
    bool released = false;  // `name` is the code that ended the wait
    std::string text() const { return released ? "(woken by " + name + ")" : name; }
  };
  Place of_wait(const model::Wait& wait);

  FutexKind futex_kind(model::StackId stack) const;
  // The futex of a wait on this stack is its thread's own parker, and no lock: parking_lot, std::thread::park, crossbeam and
  // PostgreSQL keep the lock's own queue elsewhere, so the address says nothing about it.
  bool is_parker(model::StackId stack) const;
  // The `most` innermost user frames, innermost first: "wait < commit < main".
  std::string path(model::StackId stack, std::size_t most) const;

 private:
  enum class Whose : std::uint8_t { kNotAsked, kOwn, kPackage, kRuntime };
  struct Site {
    std::string name;
    bool own = false;
  };
  const Site& find(model::StackId stack);
  Whose whose(std::string_view name, const model::Frame& frame, std::uint32_t line);

  const model::Profile& profile_;
  ShownCalls shown_;
  OwnCode own_code_;
  std::vector<std::optional<Site>> known_;
  std::vector<Whose> of_line_;  // by row of Profile::lines
};

}  // namespace fathom::analysis
