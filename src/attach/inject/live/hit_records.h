// The kernel's records about execution breakpoints: the attributes of the request, and a Hit from each
// record. Pure. Source: perf_event_open(2).
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/inject/live/judge.h"
#include "base/address.h"

namespace fathom::inject {

struct WatchedPoint {
  ProcessAddress address;
  Point point;
};

// A breakpoint at an address with one record per hit. Not enabled yet.
perf_event_attr breakpoint_attributes(ProcessAddress address);

// Reads the records of one process.
class HitReader {
 public:
  explicit HitReader(std::span<const WatchedPoint> points) : points_(points.begin(), points.end()) {}

  void read(std::span<const std::byte> record);  // including the header

  std::vector<Hit> hits;
  std::uint64_t lost = 0;
  bool has_new_thread = false;  // a watched thread has created another one
  std::uint64_t malformed = 0;

 private:
  void read_hit(std::span<const std::byte> record);
  std::vector<WatchedPoint> points_;
};

}  // namespace fathom::inject
