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
  // Reads what is cheap to read (some 20 us a process) of `pids` (ascending), and appends one point to each
  // series of those in `with_series` (ascending). Processes that are not in `pids` any more are let go.
  void sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
              const std::vector<std::int32_t>& with_series);

  // Of all of `pids` together, at the last sample.
  double resident_bytes() const { return resident_bytes_; }

 private:
  struct Sampled {
    sources::MemorySampler sampler;
    std::map<std::string_view, std::size_t> rows;  // names live as long as the program
  };
  void add(std::uint64_t now_ns, std::int32_t pid, Sampled& sampled, const sources::SeriesValue& value);

  model::Profile& profile_;
  double resident_bytes_ = 0;
  std::map<std::int32_t, Sampled> sampled_;
};

}  // namespace fathom::session
