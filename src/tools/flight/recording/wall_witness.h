// Which code hit the memory limit: the kernel chooses a victim (tracepoint oom:mark_victim) in the task whose
// allocation found no memory, and a perf event there copies that task's registers and the top of its stack.
// It needs no preparation of the target and stops no process. This allocation hit the limit, but it need not
// be the one to blame. Source: the kernel's include/trace/events/oom.h and mm/oom_kill.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/events.h"
#include "linux/perf/ring_set.h"

namespace fathom::flight {

class WallWitness {
 public:
  // Of the whole machine, so it needs CAP_PERFMON, and tracefs: mounted where this user may read it, or CAP_SYS_ADMIN, with
  // which it is mounted for this call alone, in no folder. An error: it is done without.
  static Result<WallWitness> open();

  // Those that met it since the last call, of all processes, in order of time; does not wait. A copy stays until it is
  // taken, also when the process is gone.
  std::vector<sources::CopiedStackSample> take();

 private:
  explicit WallWitness(sources::RingSet rings) : rings_(std::move(rings)) {}
  sources::RingSet rings_;
};

// Content of a tracepoint's file "id". nullopt: it makes no sense.
std::optional<std::uint64_t> parse_tracepoint_id(std::string_view text);

}  // namespace fathom::flight
