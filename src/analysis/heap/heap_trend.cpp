#include "analysis/heap/heap_trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "analysis/core/quantiles.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kMostTrendCells = 240;  // more do not make the answer better
constexpr std::size_t kLeastCells = 8;
// A line through values with a memory as long as all of them still has two ends: values below 4 gain nothing,
// and a swing that is small compared with the rise is a rise. Measured by the tests.
constexpr double kLeastIndependent = 4, kLeastIndependentBlocks = 6;

// Values at even times.
struct Grid {
  double start_s = 0, step_s = 0;
  std::vector<double> values;
  std::vector<double> change_variances, variances;
  double at(std::size_t i) const { return start_s + step_s * (static_cast<double>(i) + 0.5); }
};

// As many cells as there are points, or as the longest gap between two of them allows: the mean of the points
// inside, moved to the middle along the lines between these means.
Grid make_grid(std::span<const TrendPoint> points) {
  const double length = points.back().at_s - points.front().at_s;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < points.size(); ++i) gaps.push_back(points[i].at_s - points[i - 1].at_s);
  const double longest = *std::max_element(gaps.begin(), gaps.end());
  std::size_t cells = std::min(points.size(), kMostTrendCells);
  // Old slices are longer than new ones. Lines drawn through long gaps would look like smooth values.
  const auto by_gap = static_cast<std::size_t>(std::max(1.0, length / longest));
  cells = std::max<std::size_t>(2, std::min(cells, std::max<std::size_t>(by_gap + 1, 24)));
  // The first and the last point are in the middle of theirs.
  const double step = length / static_cast<double>(cells - 1), start = points.front().at_s - step / 2;
  Grid grid{start, step, std::vector<double>(cells), std::vector<double>(cells), std::vector<double>(cells)};
  struct Node {
    double time = 0, value = 0, count = 0;
  };
  std::vector<Node> sums(cells), nodes;
  for (const TrendPoint& point : points) {
    const auto cell = static_cast<std::size_t>(
        std::clamp((point.at_s - start) / step, 0.0, static_cast<double>(cells - 1)));
    sums[cell].time += point.at_s;
    sums[cell].value += point.value;
    ++sums[cell].count;
    grid.change_variances[cell] += point.change_variance;
    grid.variances[cell] = std::max(grid.variances[cell], point.variance);
  }
  for (const Node& sum : sums)
    if (sum.count > 0) nodes.push_back({sum.time / sum.count, sum.value / sum.count, 1});
  // Points are not in the middle of their cells; on what rises evenly that would look like noise.
  std::size_t next = 1;
  for (std::size_t i = 0; i < cells; ++i) {
    while (next + 1 < nodes.size() && nodes[next].time < grid.at(i)) ++next;
    const Node &before = nodes[next - 1], &after = nodes[next];
    grid.values[i] =
        before.value + (grid.at(i) - before.time) / (after.time - before.time) * (after.value - before.value);
  }
  return grid;
}

struct Line {
  double slope = 0, mean = 0, sxx = 0, sse = 0, total = 0;  // per cell
};

Line fit(std::span<const double> values) {
  Line line;
  const auto n = static_cast<double>(values.size());
  line.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  line.sxx = n * (n * n - 1) / 12;
  double sxy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - (n - 1) / 2;
    sxy += x * (values[i] - line.mean);
    line.total += (values[i] - line.mean) * (values[i] - line.mean);
  }
  line.slope = line.sxx > 0 ? sxy / line.sxx : 0;
  line.sse = std::max(0.0, line.total - line.slope * sxy);
  // What is left of numbers that lie on a line is rounding.
  if (line.sse < 1e-18 * (line.total + n * line.mean * line.mean)) line.sse = 0;
  return line;
}

// Of the residuals of a line, without their bias towards less.
double correlation_of_neighbours(std::span<const double> values, const Line& line) {
  if (line.sse <= 0) return 0;
  const auto n = static_cast<double>(values.size());
  double before = 0, products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double residual = values[i] - line.mean - line.slope * (static_cast<double>(i) - (n - 1) / 2);
    if (i > 0) products += before * residual;
    before = residual;
  }
  const double r = (n * products / line.sse + 2) / (n - 4) + 0.68 / std::sqrt(n);
  return std::clamp(r, 0.0, 0.99);
}

struct Uncertainty {
  double variance = 0;  // of the slope per cell
  double freedom = 0;
  double independent = 0;
};

// The widest of all lengths of blocks.
Uncertainty uncertainty_of(std::span<const double> values) {
  Uncertainty widest;
  double width = -1;
  std::vector<double> blocks(values.begin(), values.end());
  for (double length = 1;; length *= 2) {
    const Line line = fit(blocks);
    const auto n = static_cast<double>(blocks.size());
    const double r = correlation_of_neighbours(blocks, line);
    const double counted = n * (1 - r) / (1 + r), independent = std::max(kLeastIndependent, counted);
    Uncertainty here{0, independent - 2, independent};
    // Blocks that are too few to say anything say nothing against it either.
    if (length > 1 && counted < kLeastIndependentBlocks) break;
    here.variance = line.sse / here.freedom / line.sxx / (length * length);
    const double half = t_quantile(0.025, here.freedom) * std::sqrt(here.variance);
    if (half > width) {
      width = half;
      widest = here;
    }
    if (blocks.size() < 20) break;
    for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) blocks[i / 2] = (blocks[i] + blocks[i + 1]) / 2;
    blocks.resize(blocks.size() / 2);
  }
  return widest;
}

// Of the slope per cell, by the errors of sampling: those of changes add up, and those of values bound them
// however they are correlated.
double sampling_variance(const Grid& grid, std::size_t from, std::size_t to) {
  const auto n = static_cast<double>(to - from);
  const double sxx = n * (n * n - 1) / 12;
  double weight = 0, walk = 0, bound = 0;
  for (std::size_t i = to; i-- > from;) {
    const double own = (static_cast<double>(i - from) - (n - 1) / 2) / sxx;
    weight += own;  // of all values from here on
    walk += weight * weight * grid.change_variances[i];
    bound += std::fabs(own) * std::sqrt(grid.variances[i]);
  }
  return std::min(walk, bound * bound);
}

struct Part {
  TrendLine slope;
  double deviation = 0;  // of the slope, per second
  double freedom = 0;
  double swing = 0;
  // Half of the interval with so many false alarms on both sides together.
  double half(double false_alarms) const { return t_quantile(false_alarms / 2, freedom) * deviation; }
};

Part look_at(const Grid& grid, std::size_t from, std::size_t to) {
  const std::span values(grid.values.data() + from, to - from);
  Part part;
  if (values.size() < 2) return part;
  const Line line = fit(values);
  part.slope.per_s = line.slope / grid.step_s;
  part.slope.r2 = line.total > 0 ? 1 - line.sse / line.total : 0;
  part.swing = std::sqrt(line.sse / static_cast<double>(values.size()));
  if (values.size() < kLeastCells) return part;
  const Uncertainty uncertainty = uncertainty_of(values);
  part.slope.independent_values = uncertainty.independent;
  const double sampling = sampling_variance(grid, from, to), both = uncertainty.variance + sampling;
  part.deviation = std::sqrt(both) / grid.step_s;
  // Of the sum of a variance that was estimated and one that is known (Welch 1947; Satterthwaite 1946).
  const double share = both > 0 ? uncertainty.variance / both : 1;
  part.freedom = uncertainty.freedom / std::max(share * share, 1e-6);
  part.slope.low = part.slope.per_s - part.half(0.05);
  part.slope.high = part.slope.per_s + part.half(0.05);
  part.slope.known = true;
  return part;
}

// The cell from which on a line of its own fits, where the one before rose much faster; 0: there is none.
std::size_t end_of_warm_up(const Grid& grid) {
  const std::size_t n = grid.values.size();
  const std::span values(grid.values);
  if (n < 2 * kLeastCells) return 0;
  const double whole = fit(values).sse;
  if (whole <= 0) return 0;
  std::size_t best = 0;
  double least = whole;
  for (std::size_t i = 2; i <= n * 3 / 5; ++i) {
    const double both = fit(values.first(i)).sse + fit(values.subspan(i)).sse;
    if (both < least) {
      least = both;
      best = i;
    }
  }
  if (best == 0 || least > 0.4 * whole) return 0;
  // A jump between both parts belongs to the first.
  const double rise = grid.values[best] - grid.values[0];
  const double early = rise / static_cast<double>(best), late = fit(values.subspan(best)).slope;
  return early > 3 * std::fabs(late) ? best : 0;
}

// Mean and the variance of it, as far as correlated values allow.
std::array<double, 2> mean_of(std::span<const double> values) {
  const Line line = fit(values);
  const auto n = static_cast<double>(values.size());
  if (n < 6) return {line.mean, n > 1 ? line.total / (n - 1) : 0};
  // Around the line: that there is a slope does not make the mean less certain.
  const double r = correlation_of_neighbours(values, line);
  const double independent = std::max(1.0, n * (1 - r) / (1 + r));
  return {line.mean, line.sse / (n - 2) / independent};
}

void test_plateau(const Grid& grid, std::size_t from, Trend& trend) {
  const std::size_t n = grid.values.size() - from, third = n / 3;
  if (third < 2) return;
  const std::span all(grid.values.data() + from, n);
  const std::span second = all.subspan(n - 2 * third, third), last = all.subspan(n - third);
  const auto [before, before_variance] = mean_of(second);
  const auto [after, after_variance] = mean_of(last);
  double sampling = 0;
  for (std::size_t i = grid.values.size() - 2 * third; i < grid.values.size(); ++i)
    sampling += grid.change_variances[i];
  sampling = std::min(
      sampling,
      *std::max_element(grid.variances.end() - static_cast<std::ptrdiff_t>(2 * third), grid.variances.end()) *
          2);
  trend.late_rise = after - before;
  trend.late_rise_error = 1.96 * std::sqrt(before_variance + after_variance + sampling);
  trend.new_maximum = *std::max_element(last.begin(), last.end()) >
                      *std::max_element(all.begin(), all.end() - static_cast<std::ptrdiff_t>(third));
}

// How few jumps make four fifths of the rise, if they are three at most, and nothing falls much.
void find_steps(const Grid& grid, Trend& trend) {
  std::vector<std::pair<double, std::size_t>> jumps;
  double falls = 0;
  for (std::size_t i = 1; i < grid.values.size(); ++i) {
    const double change = grid.values[i] - grid.values[i - 1];
    if (change > 0) jumps.emplace_back(change, i);
    if (change < 0) falls -= change;
  }
  const double rise = grid.values.back() - grid.values.front();
  if (!(rise > 0) || falls > 0.2 * rise || grid.values.size() < 12) return;
  std::sort(jumps.rbegin(), jumps.rend());
  double sum = 0;
  std::size_t last = 0;
  // A jump between two cells can be spread over both: twice three.
  for (std::size_t i = 0; i < std::min<std::size_t>(jumps.size(), 6); ++i) {
    sum += jumps[i].first;
    last = std::max(last, jumps[i].second);
    if (sum < 0.8 * rise) continue;
    std::vector<std::size_t> cells;
    for (std::size_t j = 0; j <= i; ++j) cells.push_back(jumps[j].second);
    std::sort(cells.begin(), cells.end());
    unsigned apart = 1;
    for (std::size_t j = 1; j < cells.size(); ++j)
      if (cells[j] != cells[j - 1] + 1) ++apart;
    if (apart > 3) return;
    trend.steps = apart;
    trend.last_step_s = grid.at(last);
    return;
  }
}

// Only the late part separates a line that goes on from one that bends. If the end of a warm-up was chosen,
// much of the bend lies before it, so less of it remains visible.
void find_bend(const Grid& grid, std::size_t from, Trend& trend) {
  constexpr double kSlower = 1.3, kSure = 1.645;  // standard deviations
  const std::size_t n = grid.values.size(), length = n - from;
  if (length < 2 * kLeastCells) return;
  const auto compare = [&](std::size_t at, double slow, double enough) {
    const Part early = look_at(grid, from, at), late = look_at(grid, at, n);
    const auto above = [&](double part, double deviations) {
      return late.slope.per_s - part * early.slope.per_s >
             deviations * std::hypot(late.deviation, part * early.deviation);
    };
    const bool slowing = !above(slow, -kSlower), goes_on = above(enough, kSure);
    return std::tuple(slowing, goes_on, early.slope.per_s, late.slope.per_s);
  };
  const auto [half_slows, half_goes_on, early, late] =
      compare(from + length / 2, 0.75, from == 0 ? 0.6 : 0.75);
  const auto [end_slows, end_goes_on, before, end] = compare(n - std::max(length / 4, kLeastCells), 0.5, 0.5);
  trend.early_per_s = early;
  trend.late_per_s = late;
  trend.slowing = half_slows || end_slows;
  trend.goes_on = !trend.slowing && half_goes_on && end_goes_on;
}

// A curve that bends towards a level is no line with noise, and has no slope of its own: it has stopped where
// the last third rises by less than a tenth of what an even rise would have, and moves little.
bool is_level_at_last(const Grid& grid) {
  const std::span values(grid.values);
  if (values.size() < 2 * kLeastCells) return false;
  const std::span last = values.last(values.size() / 3);
  const auto [low, high] = std::minmax_element(last.begin(), last.end());
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return *high - *low <= 0.1 * (*highest - *lowest) / 3 || *high - *low <= 0.01 * *highest;
}

TrendShape shape_of(const Grid& grid, Trend& trend, const Part& rest, double false_alarms) {
  const double highest = *std::max_element(grid.values.begin(), grid.values.end());
  const double lowest = *std::min_element(grid.values.begin(), grid.values.end());
  if (highest == lowest && grid.values.size() >= kLeastCells) return TrendShape::kPlateau;
  // A jump late in the recording: what comes after it is not known yet.
  const double since_step = grid.start_s + trend.duration_s - trend.last_step_s;
  if (trend.steps != 0 && since_step < 0.4 * trend.duration_s && trend.last - trend.first > 0.05 * highest)
    return TrendShape::kSteps;
  if (!rest.slope.known) return TrendShape::kTooShort;
  // The end of the warm-up was chosen by looking at the values, and what follows is asked more strictly for
  // it.
  const bool warm_up = trend.warm_up_s > 0;
  const auto above = [&](const Part& part) {
    return part.slope.per_s - part.half(warm_up ? false_alarms / 5 : false_alarms) > 0;
  };
  const auto below = [&](const Part& part) {
    return part.slope.per_s + part.half(warm_up ? false_alarms / 5 : false_alarms) < 0;
  };
  if (below(rest)) return TrendShape::kFalling;
  const bool rises = trend.rises = above(rest);
  trend.level_at_last = is_level_at_last(grid);
  // A curve that bends towards a level still has a slope.
  const double least = rest.slope.per_s * (trend.duration_s - trend.warm_up_s) / 6;
  if (rises && trend.new_maximum && trend.late_rise > 0 &&
      (trend.late_rise > trend.late_rise_error || (!warm_up && trend.late_rise > least)))
    return TrendShape::kGrowing;
  const double length_s = trend.duration_s - trend.warm_up_s;
  const double possible = std::max(std::fabs(rest.slope.low), std::fabs(rest.slope.high)) * length_s;
  if (possible <= 0.1 * highest || (rises && !trend.new_maximum) || trend.level_at_last)
    return TrendShape::kPlateau;
  return TrendShape::kNoise;
}

}  // namespace

double t_quantile(double tail, double freedom) {
  return students_t_upper_quantile(tail, std::clamp(freedom, 0.5, 1e4));
}

Trend find_trend(std::span<const TrendPoint> points, double false_alarms) {
  Trend trend;
  if (points.empty()) return trend;
  trend.first = points.front().value;
  trend.last = points.back().value;
  trend.duration_s = points.back().at_s - points.front().at_s;
  if (points.size() < 2 || !(trend.duration_s > 0)) return trend;
  const Grid grid = make_grid(points);
  const std::size_t n = grid.values.size();
  const Part whole = look_at(grid, 0, n);
  std::size_t from = end_of_warm_up(grid);
  Part rest = from == 0 ? whole : look_at(grid, from, n);
  if (from != 0 && !rest.slope.known) {
    from = 0;
    rest = whole;
  }
  trend.warm_up_s = from == 0 ? 0 : grid.step_s * static_cast<double>(from);
  trend.whole = whole.slope;
  trend.slope = rest.slope;
  trend.swing = rest.swing;
  test_plateau(grid, from, trend);
  find_steps(grid, trend);
  find_bend(grid, from, trend);
  trend.shape = shape_of(grid, trend, rest, false_alarms);
  if (trend.shape != TrendShape::kSteps) trend.steps = 0;
  const double length_s = trend.duration_s - trend.warm_up_s;
  const double level = *std::max_element(grid.values.begin(), grid.values.end());
  // The error of a slope falls with the power 3/2 of the time.
  if (rest.slope.known && level > 0 && length_s > 0)
    trend.needed_s =
        trend.duration_s *
        std::max(1.0, std::pow((rest.slope.high - rest.slope.per_s) * length_s / (0.1 * level), 2.0 / 3));
  return trend;
}

}  // namespace fathom::analysis
