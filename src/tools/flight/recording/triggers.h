// When the flight recorder looks closely and writes: cheap readings of one process, ten times a second -> marks, each
// with the reason in words. Pure.
//
// Usage of a control group is no signal by itself: the page cache of a mapped database keeps it at its limit for ever. What
// counts is what the kernel cannot take back (sources::MemoryLimit::room).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analysis/memory/growth.h"

namespace fathom::flight {

struct Tick {
  std::uint64_t time_ns = 0;
  std::uint64_t anonymous = 0, resident = 0;  // bytes of the process
  // The limit that is met first, and what of it the kernel cannot take back. limit_bytes 0: there is none.
  std::uint64_t limit_bytes = 0, held_bytes = 0;
  std::string limit_of;  // "control group /a", "the machine"
  // Counted by its control group since the recording began: allocations that met memory.high, and the limit.
  std::uint64_t high_events = 0, limit_events = 0;
  std::optional<double> stalled_us;  // stalled on memory (PSI), so far
};

struct TriggerOptions {
  std::uint64_t each_bytes = 0;  // of growth of the resident memory; 0: no marks for it
  double soon_s = 2;
  double near = 0.95, far = 0.90;           // of the limit: marked at the one, again after the other
  double stalled_share = 0.1;               // of a second
  std::uint64_t pause_ns = 10'000'000'000;  // between two marks of one kind
};

class Triggers {
 public:
  explicit Triggers(TriggerOptions options = {}) : options_(options) {}
  // Ticks in order of time.
  std::vector<std::string> take(const Tick& tick);

 private:
  std::optional<std::string> growth_step(const Tick& tick);
  std::optional<std::string> slope(const Tick& tick);
  std::optional<std::string> nearness(const Tick& tick);
  std::optional<std::string> events(const Tick& tick);
  std::optional<std::string> pressure(const Tick& tick);
  bool may(std::uint64_t& next_ns, const Tick& tick) const;

  TriggerOptions options_;
  std::deque<analysis::TimedValue> anonymous_;
  std::deque<analysis::TimedValue> stalled_;
  std::optional<std::uint64_t> step_from_;
  bool is_near_ = false;
  std::optional<std::uint64_t> high_events_, limit_events_;
  std::uint64_t next_slope_ns_ = 0, next_high_ns_ = 0, next_limit_ns_ = 0, next_pressure_ns_ = 0;
};

}  // namespace fathom::flight
