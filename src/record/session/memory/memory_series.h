// The memory of the recorded processes over time, as series of the profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "linux/memory/memory_sampler.h"
#include "model/profile.h"

namespace fathom::session {

class MemorySeries {
 public:
  explicit MemorySeries(model::Profile& profile) : profile_(profile) {}
  // Reads what is cheap to read (some 20 us per process) of `pids` (ascending), and appends one point to each
  // series of those in `with_series` (ascending). Forgets processes that are no longer in `pids`.
  void sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
              const std::vector<std::int32_t>& with_series);

  // Processes of which the files are kept open, six each: of more only resident memory, swap and page tables are read,
  // from a file that is opened each time.
  static constexpr std::size_t kMostKept = 64;

  // Of all of `pids` together, at the last sample.
  double resident_bytes() const { return resident_bytes_; }

 private:
  struct Sampled {
    std::optional<sources::MemorySampler> sampler;  // nullopt: too many are kept
    std::map<std::string_view, std::size_t> rows;   // names live as long as the program
  };
  void add(std::uint64_t now_ns, std::int32_t pid, Sampled& sampled, const sources::SeriesValue& value);

  model::Profile& profile_;
  double resident_bytes_ = 0;
  std::map<std::int32_t, Sampled> sampled_;
  std::size_t kept_ = 0;  // those with a sampler
};

}  // namespace fathom::session
