// Events of the kernel with their stacks, as what uses an engine sees them. An engine that cannot record any has none of these.
#pragma once

#include <cstdint>
#include <vector>

#include "base/abi/kernel_events.h"
#include "linux/perf/named_events.h"

namespace fathom::sources {

// What was counted of one event since the start, on all CPUs.
struct KernelEventSums {
  std::uint64_t count = 0;  // exact, of the recorded processes
  std::int64_t value = 0;   // the same, by weight
  std::uint64_t sent = 0, lost = 0;
  std::uint64_t run_ns = 0;
};

class KernelEvents {
 public:
  virtual ~KernelEvents() = default;
  // Those that came since the last time. Their stacks are with the engine's other events: drain that after this call, and all
  // stacks of these records are known. `event` is below the number of sums().
  virtual std::vector<kernel_event_record> take() = 0;
  virtual std::vector<KernelEventSums> sums() const = 0;
};

}  // namespace fathom::sources
