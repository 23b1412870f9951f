// How near the recorded processes come to their limits of mappings, descriptors and the like. They are read now and then, as the
// number of mappings takes a reading of all of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/counted_limit.h"

namespace fathom::session {

class LimitWatch {
 public:
  // Call it often: it reads after 0.5, 1, 2, 4 and 8 s, then every 10 s, and so rarely that it takes at most 0.1 % of a CPU.
  // Of more than eight processes, the first eight.
  void look(std::uint64_t now_ns, std::span<const std::int32_t> pids);
  // A last time, also if it is not due.
  void finish(std::span<const std::int32_t> pids);
  void put(std::map<std::string, std::string>& facts) const;

 private:
  std::map<std::int32_t, std::vector<model::CountedLimit>> limits_;
  std::uint64_t due_ns_ = 0, pause_ns_ = 500'000'000;
};

}  // namespace fathom::session
