// Stacks of threads that run: one sample of each, from a perf event of its own that copies the registers and the top of the stack
// while the thread is on a CPU. Nothing is stopped; a sample costs the thread about 15 us.
//
// Alternative not taken: ptrace, which would stop the thread and fails where a debugger is attached.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/events.h"
#include "linux/perf/decoder.h"
#include "linux/perf/ring.h"

namespace fathom::stacks {

class RunningStacks {
 public:
  // Begins to sample these threads: at most 64 of them, the others stay unseen. Threads that have ended are left out.
  // An error: this user may sample none.
  static Result<RunningStacks> open(const std::vector<std::int32_t>& tids);

  // What arrived since the last call; the first sample of each thread.
  std::vector<sources::CopiedStackSample> take();
  bool all_seen() const { return threads_.empty(); }
  void forget(std::int32_t tid) { threads_.erase(tid); }

 private:
  struct Thread {
    Fd event;
    sources::PerfRing ring;
  };
  explicit RunningStacks(const perf_event_attr& attributes) : decoder_(attributes) {}
  sources::RecordDecoder decoder_;
  std::map<std::int32_t, Thread> threads_;  // by tid
};

}  // namespace fathom::stacks
