// The time of a recording in slices of one width, which is a round number of milliseconds: what a brush on the page can
// select. An edge is the time that `fathom report --from` understands by the same number, so that sums over slices are the
// report's to the unit.
#pragma once

#include <cstdint>

namespace fathom::page {

class TimeSlices {
 public:
  // CLOCK_MONOTONIC ns. At most `most` slices, and not shorter than `least_width_ms`; one where no time is known.
  TimeSlices(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t most,
             std::uint64_t least_width_ms = 1);

  std::uint32_t count() const { return count_; }
  std::uint64_t width_ms() const { return width_ms_; }
  std::uint64_t start_ns() const { return start_ns_; }
  // From the start of the recording; `slice` is at most count().
  std::uint64_t edge_ns(std::uint32_t slice) const;
  // The slice that holds this time. What is before the recording is in the first, what is after it in the last.
  std::uint32_t of(std::uint64_t time_ns) const;

 private:
  std::uint64_t start_ns_, width_ms_ = 1;
  std::uint32_t count_ = 1;
};

// The next wider one of 1, 2, 5, 10, 20 ...
std::uint64_t wider(std::uint64_t width_ms);

}  // namespace fathom::page
