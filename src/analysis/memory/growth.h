// How fast something grows, and how certain that is. Pure.
//
// The values of a program's memory depend on each other, so a line through the points would claim far too much. The
// window is cut into up to ten equal stretches instead, and the interval is that of the mean of their rises (Student's
// t): a single step, or a sawtooth, makes it wide.
#pragma once

#include <optional>
#include <span>

namespace fathom::analysis {

struct TimedValue {
  double time_s = 0, value = 0;
};

struct Slope {
  double per_second = 0;
  double low = 0, high = 0;  // 95 %
  bool grows() const { return low > 0; }
  bool shrinks() const { return high < 0; }
};

// `points`: ascending in time. nullopt: fewer than four, or no time between them.
std::optional<Slope> slope_of(std::span<const TimedValue> points);

// Seconds until `room` is used up at that slope. nullopt: it is not certain to grow.
struct TimeLeft {
  double seconds = 0, least = 0, most = 0;
};
std::optional<TimeLeft> time_left(const Slope& slope, double room);

}  // namespace fathom::analysis
