// What recording costs a program and what it delivers: every profiler on the same work, in rounds.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/support/profilers.h"

namespace fathom::bench {

struct Throughput {
  double per_second = 0;
  double per_cpu_second = 0;  // of the target alone: more reliable if other programs use the machine
};

// A program to record. start() starts a new target that is ready for attaching; work() makes it work, for
// about seconds_per_run(); stop() ends it.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual pid_t start() = 0;
  virtual Throughput work() = 0;
  virtual void stop() = 0;
  virtual std::string unit() const = 0;  // of the throughput
};

// Records the workload with each of `profilers`, the first of which records nothing, and prints the table.
// `folder` is for the recordings.
void compare(Workload& workload, const std::string& folder, const std::vector<Profiler>& profilers);

// Runs the comparison for `question`. "": fathom and perf. "default": the cost of the default recording and
// of each part. "heap": the cost of tracing the heap. "before": each engine of this build and of the build
// that BEFORE names. Returns the exit status of the benchmark.
int compare_as_asked(Workload& workload, const std::string& folder, const std::string& question);

}  // namespace fathom::bench
