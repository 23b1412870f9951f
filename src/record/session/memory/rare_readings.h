// Readings of the recorded processes that are too expensive for each second, because they walk all mappings or pages: how close the
// processes are to their limits of mappings, descriptors and so on, how much of their memory is freed lazily, and how much of it they
// share or changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linux/memory/smaps_rollup.h"
#include "model/counted_limit.h"
#include "model/profile.h"

namespace fathom::session {

class RareReadings {
 public:
  explicit RareReadings(model::Profile& profile) : profile_(profile) {}
  // Call it often: it reads after 0.5, 1, 2, 4 and 8 s, then every 10 s, and so rarely that it takes at most 0.1 % of a CPU.
  // Of more than eight processes, the first eight.
  void look(std::uint64_t now_ns, std::span<const std::int32_t> pids);
  // A last time, also if it is not due.
  void finish(std::uint64_t now_ns, std::span<const std::int32_t> pids);
  void put(std::map<std::string, std::string>& facts) const;

 private:
  struct Process {
    std::vector<model::CountedLimit> limits;  // at the most that was seen
    std::optional<std::uint64_t> lazy_free;   // bytes, at the last reading
    std::optional<std::size_t> first_row;     // of its series of the sums below, one after the other
  };
  // Appends a point to `memory.pss` and so on of this process.
  void add(std::uint64_t now_ns, std::int32_t pid, Process& process, const sources::SmapsRollup& rollup);

  model::Profile& profile_;
  std::map<std::int32_t, Process> processes_;
  std::uint64_t due_ns_ = 0, pause_ns_ = 500'000'000;
};

}  // namespace fathom::session
