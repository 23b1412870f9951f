// What recording costs a program and what it delivers: every profiler on the same work, in rounds.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/support/profilers.h"

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

// Records the workload with each of `profilers`, of which the first is nothing, and prints the table. `folder` is for
// the recordings.
void compare(Workload& workload, const std::string& folder, const std::vector<Profiler>& profilers);

// "": fathom and perf. "default": the cost of the default recording and of each part. "heap": the cost of
// tracing the heap. "before": each engine and that of the build that BEFORE names. The exit status of a
// benchmark.
int compare_as_asked(Workload& workload, const std::string& folder, const std::string& question);

}  // namespace fathom::bench
