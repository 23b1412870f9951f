// The exact CPU time of each thread of one process within a recording, from the scheduler's own count: what
// the number of samples is held against. Threads come and go between two looks, so what is known of one that
// has ended is its last value, at most one interval old.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"

namespace fathom::record {

struct ThreadTime {
  int tid = 0;
  std::uint64_t cpu_ns = 0;  // within the recording
  bool ended = false;
  bool operator==(const ThreadTime&) const = default;
};

class CpuTimes {
 public:
  // `born_inside`: the process was started during the recording, so all of its time counts. Otherwise what
  // its threads had used at the first update() is subtracted.
  CpuTimes(int pid, bool born_inside) : pid_(pid), born_inside_(born_inside) {}

  // Looks at all threads. kNotFound: the process has ended; what is known stays.
  Result<> update();

  // What one look at the threads has found: the pure half of update().
  struct Reading {
    int tid;
    std::uint64_t ran_ns;  // since the thread was started
  };
  void apply(std::span<const Reading> readings);

  // Ascending by tid; a number that was used by two threads stands there twice.
  std::vector<ThreadTime> threads() const;
  std::uint64_t total_ns() const;

 private:
  struct Running {
    std::uint64_t first_ns, last_ns;
  };
  int pid_;
  bool born_inside_;
  std::map<int, Running> running_;
  std::vector<ThreadTime> ended_;
};

}  // namespace fathom::record
