#include "analysis/memory/growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace fathom::analysis {
namespace {

constexpr std::size_t kMostStretches = 10;
// Two-sided 95 % of Student's t, by degrees of freedom, starting at 1.
constexpr std::array kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

// On the line between the points around it.
double value_at(std::span<const TimedValue> points, double time_s) {
  const auto after =
      std::lower_bound(points.begin(), points.end(), time_s,
                       [](const TimedValue& point, double time) { return point.time_s < time; });
  if (after == points.begin()) return points.front().value;
  if (after == points.end()) return points.back().value;
  const TimedValue &left = *std::prev(after), &right = *after;
  const double width = right.time_s - left.time_s;
  return width <= 0 ? right.value : left.value + (right.value - left.value) * (time_s - left.time_s) / width;
}

}  // namespace

std::optional<Slope> slope_of(std::span<const TimedValue> points) {
  if (points.size() < 4) return std::nullopt;
  const double time = points.back().time_s - points.front().time_s;
  if (!(time > 0)) return std::nullopt;
  const std::size_t stretches = std::min(kMostStretches, points.size() - 1);
  const double width = time / static_cast<double>(stretches);
  std::vector<double> rises;
  double before = points.front().value;
  for (std::size_t i = 1; i <= stretches; ++i) {
    const double now = i == stretches
                           ? points.back().value
                           : value_at(points, points.front().time_s + width * static_cast<double>(i));
    rises.push_back((now - before) / width);
    before = now;
  }
  Slope slope;
  slope.per_second = (points.back().value - points.front().value) / time;
  double squares = 0;
  for (const double rise : rises) squares += (rise - slope.per_second) * (rise - slope.per_second);
  const auto count = static_cast<double>(rises.size());
  const double error = kStudent[rises.size() - 2] * std::sqrt(squares / (count - 1) / count);
  slope.low = slope.per_second - error;
  slope.high = slope.per_second + error;
  return slope;
}

std::optional<TimeLeft> time_left(const Slope& slope, double room) {
  if (!slope.grows()) return std::nullopt;
  const double left = std::max(0.0, room);
  return TimeLeft{left / slope.per_second, left / slope.high, left / slope.low};
}

}  // namespace fathom::analysis
