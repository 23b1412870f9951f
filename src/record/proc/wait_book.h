// Waits from looks: threads are looked at now and then, and what they were blocked in is booked with the time
// that they waited. Pure: times come as arguments, nothing is read here.
//
// A look stands for the time around it, up to half the way to the looks before and after it. If the thread
// has not run between two looks, they saw one wait. What the scheduler's own account (schedstat) gives is
// exact: the sums of each thread, and a slow correction that holds the shares of its stacks to them. How long
// a wait took by itself, and for how many it stands (weight), is estimated from how often the thread was
// switched in; where the records of its switches arrive as well, begin and end of each wait that was looked
// at are exact.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "linux/events.h"
#include "linux/process/threads.h"

namespace fathom::sources {

class WaitBook {
 public:
  // `switches`: records of context switches will follow. Waits are then returned once their ends have been
  // seen.
  explicit WaitBook(bool switches) : switches_(switches) {}

  // A thread of the target, from `time_ns` on, with what the scheduler has booked for it so far. `before`: it
  // was there when the recording began. The first call counts.
  void add(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns, const process::SchedulerTimes& times,
           bool before);
  bool knows(std::int32_t tid) const { return accounts_.contains(tid); }

  // Has it not run since a look found it blocked? Then there is no need to look at its stack again.
  bool is_same_wait(std::int32_t tid, const process::SchedulerTimes& times) const;
  // It is in the wait of the last look still.
  void look_same(std::int32_t tid, std::uint64_t time_ns, const process::SchedulerTimes& times);
  // It runs, or could.
  void look_running(std::int32_t tid, std::uint64_t time_ns, const process::SchedulerTimes& times);
  // It is blocked in another wait than before. `wait` has stack and cause; times are set here.
  void look_blocked(std::uint64_t time_ns, const process::SchedulerTimes& times, const Waited& wait);
  // The stack of the wait that it is in is better known now.
  void set_stack(std::int32_t tid, std::uint64_t stack_id);

  void switched(const ThreadSwitched& event);
  // Gives out what the thread still has open, with its sums.
  void ended(std::int32_t tid, std::uint64_t time_ns, std::vector<Event>& out);

  // Waits that are over. Call it after the switches were added, and before the scans that follow.
  void take(std::vector<Event>& out);
  // The sums of every thread up to its last look.
  void sum(std::vector<Event>& out) const;
  // Everything that is open, cut at the last look, and the sums. The caller looks at all threads before.
  void finish(std::vector<Event>& out);

 private:
  struct Open {
    Waited wait;
    std::uint64_t first_look_ns = 0, last_look_ns = 0;
    double head_ns = 0, tail_ns = 0;      // estimates of its parts before the first and after the last look
    double before_ns = 0, after_ns = 0;   // what these looks stand for on their outer sides
    double queued_ns = 0;                 // estimate, until it ran
    std::uint64_t out_ns = 0, in_ns = 0;  // from records of switches; 0: unknown
    int takes = 0;
  };
  struct Account {
    std::int32_t pid = 0;
    bool before = false;
    std::uint64_t begin_ns = 0, look_ns = 0;
    process::SchedulerTimes base, last;  // at the beginning, at the last look
    // At the last look that found the thread blocked, or the beginning.
    std::uint64_t pool_ns = 0;
    process::SchedulerTimes pool;
    std::optional<Open> open;
    std::vector<Open> closed;
    double waited_ns = 0, booked_ns = 0;  // exact, up to the pool; and what was given to stacks of it
    // From records of switches; 0: unknown.
    std::uint64_t out_ns = 0, in_ns = 0, first_in_ns = 0;
    std::uint64_t ran_ns = 0;
    bool preempted = false;
    std::uint64_t waits = 0, preemptions = 0;
    double unwalked_ns = 0;
    std::uint64_t unwalked_waits = 0;
  };

  void close(Account& account, double waited, bool at_blocked_look);
  void give_out(Account& account, std::int32_t tid, Open& open, std::vector<Event>& out);
  void give_out_all(Account& account, std::int32_t tid, std::vector<Event>& out);
  ThreadWaitTime sums_of(const Account& account, std::int32_t tid) const;

  bool switches_;
  std::unordered_map<std::int32_t, Account> accounts_;      // by tid
  std::unordered_map<std::uint64_t, double> left_over_ns_;  // by stack: booked, but less than one more wait
};

}  // namespace fathom::sources
