// The memory of the recorded processes over time, as series of the profile.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/profile.h"
#include "sources/memory/memory_sampler.h"

namespace fathom::session {

class MemorySeries {
 public:
  explicit MemorySeries(model::Profile& profile) : profile_(profile) {}
  // Reads what is cheap to read (some 20 us a process) and appends one point to each series. Processes that
  // are not in `pids` any more are let go.
  void sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids);

  // Of all of them together, at the last sample.
  double resident_bytes() const { return resident_bytes_; }

 private:
  void add(std::uint64_t now_ns, std::int32_t pid, const sources::SeriesValue& value);

  model::Profile& profile_;
  double resident_bytes_ = 0;
  std::map<std::int32_t, sources::MemorySampler> samplers_;
  std::map<std::pair<std::int32_t, std::string_view>, std::size_t>
      rows_;  // names live as long as the program
};

}  // namespace fathom::session
