// Tasks of tokio as tasks: which of them ran on the worker threads, and which kept a worker from the others by blocking inside of a
// poll. A poll ends where its function returns to the executor, which no sample shows, so two polls of one task that follow each other
// directly count as one; a wait is inside of one poll. Tasks that no thread polls are nowhere on a stack and are not seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/wait_site.h"
#include "model/profile.h"

namespace fathom::analysis {

// Of every stack the task that is polled there on a worker thread of an executor. Closures of spawn_blocking and block_in_place may
// block, so they are none.
class PolledTasks {
 public:
  explicit PolledTasks(const model::Profile& profile);
  // The outermost own function of the task, as a row of Profile::functions; 0: the stack is inside of no poll, or no function of the
  // task is known.
  std::uint32_t task(model::StackId stack) const { return any_ ? states_[stack.value].task : 0; }
  bool any() const { return any_; }

 private:
  enum class Where : std::uint8_t { kOutside, kWorker, kPoll, kMayBlock };
  struct State {
    Where where = Where::kOutside;
    std::uint32_t task = 0;
  };
  std::vector<State> states_;  // by row of the stacks
  bool any_ = false;           // one of them is inside of a poll
};

// A function in which an executor polls a task: what called it is the executor's, what it calls is the task's.
bool polls_a_task(std::string_view name);

// All tasks with one function.
struct AsyncTaskRow {
  std::string task;
  double ran_ns = 0;              // from samples
  std::uint64_t longest_ns = 0;   // that one held its worker, running and waiting; at most
  WaitSum blocked;                // waits inside of polls
  std::string site;               // of the longest of them
  Cause cause = Cause::kUnknown;  // likewise
};

// Most blocked time first, then most CPU time. Empty if the program has no such executor, or its names are unknown.
std::vector<AsyncTaskRow> find_async_tasks(const Waits& waits, const Selection& selection, WaitSites& sites);

}  // namespace fathom::analysis
