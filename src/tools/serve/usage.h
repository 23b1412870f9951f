// What processes use, from /proc: what conditions are about.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tools/serve/trigger.h"

namespace fathom::serve {

// Of all processes of a target together, look after look. CPU time is what they used since the first look: a process that joins the
// target does not bring the time that it used before, and one that ends does not take its time along.
class Usage {
 public:
  TriggerReading take(const std::vector<std::int32_t>& pids, std::uint64_t now_ns);

 private:
  struct Known {
    std::uint64_t start_ticks = 0, cpu_ticks = 0;
  };
  std::map<std::int32_t, Known> known_;  // at the last look
  std::uint64_t looked_ns_ = 0, used_ticks_ = 0;
};

}  // namespace fathom::serve
