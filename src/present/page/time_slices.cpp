#include "present/page/time_slices.h"

#include <algorithm>

namespace fathom::page {

std::uint64_t wider(std::uint64_t width_ms) {
  std::uint64_t unit = 1;
  while (unit <= width_ms / 10) unit *= 10;
  return width_ms < 2 * unit ? 2 * unit : width_ms < 5 * unit ? 5 * unit : 10 * unit;
}

TimeSlices::TimeSlices(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t most,
                       std::uint64_t least_width_ms)
    : start_ns_(start_ns) {
  if (end_ns <= start_ns) return;
  constexpr std::uint64_t kMillisecond = 1'000'000;
  const std::uint64_t length_ms = (end_ns - start_ns - 1) / kMillisecond + 1;
  while (width_ms_ < least_width_ms || (length_ms - 1) / width_ms_ + 1 > most) width_ms_ = wider(width_ms_);
  count_ = static_cast<std::uint32_t>((length_ms - 1) / width_ms_ + 1);
}

std::uint64_t TimeSlices::edge_ns(std::uint32_t slice) const {
  // As a user's text of seconds becomes nanoseconds (cli/selection_options.cpp).
  const double seconds = static_cast<double>(slice * width_ms_) / 1000.0;
  return static_cast<std::uint64_t>(seconds * 1e9);
}

std::uint32_t TimeSlices::of(std::uint64_t time_ns) const {
  if (time_ns <= start_ns_) return 0;
  const std::uint64_t since = time_ns - start_ns_;
  auto slice =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(since / (width_ms_ * 1'000'000), count_ - 1));
  // An edge may be a nanosecond off the whole millisecond.
  while (slice + 1 < count_ && edge_ns(slice + 1) <= since) ++slice;
  while (slice > 0 && edge_ns(slice) > since) --slice;
  return slice;
}

}  // namespace fathom::page
