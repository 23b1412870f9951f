// What recording costs a program and what it delivers: every profiler in turn on the same work, round after
// round, and every figure against the run without a profiler of the same round.
#pragma once

#include <sys/types.h>

#include <string>

namespace fathom::bench {

struct Throughput {
  double per_second = 0;
  double per_cpu_second = 0;  // of the target alone: firmer, where others use the machine as well
};

// Something to record. start() begins a fresh target that is ready to be attached to; work() makes it work,
// for about seconds_per_run(); stop() ends it.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual pid_t start() = 0;
  virtual Throughput work() = 0;
  virtual void stop() = 0;
  virtual std::string unit() const = 0;  // of the throughput
};

// What waiting adds to the cost: nothing, CPU sampling, and both, by turns. A ratio is taken to the mean of
// the two runs without a profiler beside it, so a machine that gets slower over the minutes does not count.
// At least seven rounds.
void compare_waits(Workload& workload, const std::string& folder);
// What tracing the heap costs, sampled and exact, in the same way.
void compare_heap(Workload& workload, const std::string& folder);

// Prints the table. `folder` is for the recordings.
void compare_profilers(Workload& workload, const std::string& folder);

}  // namespace fathom::bench
