#include "analysis/diff/estimate.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/quantiles.h"

namespace fathom::analysis {
namespace {

constexpr double kManyDegrees = 1e6;  // beyond it Student's t is the normal distribution
constexpr std::size_t kLeastPieces = 5;

double clamp_freedom(double freedom) {
  return std::isfinite(freedom) ? std::clamp(freedom, 1.0, kManyDegrees) : kManyDegrees;
}

double sampling_variance(double value, double whole, const RunScale& run) {
  if (run.weight <= 0) return 0;
  double part_left = 1;  // fraction left of the binomial variance n p (1 - p)
  if (run.of_whole || run.known_total > 0) {
    part_left = whole > 0 ? 1 - value / whole : 1;
  } else if (run.most > 0) {
    part_left = 1 - value / run.most;
  }
  return run.weight * std::max(value * std::max(part_left, 0.0), run.weight);
}

// The variance of the sum over the pieces, as if all were drawn from one distribution, including the
// correlation of neighbouring pieces. 0 if there are too few.
double variance_over_time(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                          bool of_whole) {
  const std::size_t count = values.size();
  if (count < kLeastPieces) return 0;
  double sum = 0, whole = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += static_cast<double>(values[i]);
    whole += static_cast<double>(wholes[i]);
  }
  std::vector<double> away(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double expected = !of_whole   ? sum / static_cast<double>(count)
                            : whole > 0 ? sum / whole * static_cast<double>(wholes[i])
                                        : 0;
    away[i] = static_cast<double>(values[i]) - expected;
  }
  const auto covariance = [&](std::size_t lag) {
    double all = 0;
    for (std::size_t i = lag; i < count; ++i) all += away[i] * away[i - lag];
    return all / static_cast<double>(count - 1);
  };
  const double alone = covariance(0);
  // Independent neighbours have such a covariance in one case of forty; adding it then would only add noise.
  if (covariance(1) * std::sqrt(static_cast<double>(count)) <= 2 * alone)
    return static_cast<double>(count) * alone;
  double together = alone;
  constexpr std::size_t kLags = 2;
  for (std::size_t lag = 1; lag <= kLags; ++lag)
    together += 2 * (1 - static_cast<double>(lag) / (kLags + 1)) * covariance(lag);
  return static_cast<double>(count) * std::max(alone, together);
}

// For this many pieces: their spread divided by the spread expected by chance alone stays below this value 19
// times out of 20.
double likely_spread(std::size_t pieces) {
  if (pieces < kLeastPieces) return 1;
  const auto spread = [](std::size_t count) {
    const auto freedom = static_cast<double>(count - 1);
    return chi_squared_quantile(0.95, freedom) / freedom;
  };
  static const double usual = spread(kUsualPieces);  // cached: needed for every figure
  return pieces == kUsualPieces ? usual : spread(pieces);
}

struct OneRun {
  double value = 0, variance = 0, freedom = kManyDegrees;
};

// A clock measured the total of this time without error, but an uneven load would have another total at
// another time. The sampling noise of the pieces is not part of that.
void add_uneven_load(OneRun& result, std::span<const std::int64_t> wholes, double whole,
                     const RunScale& run) {
  const double sampling = run.weight * whole;
  const double over_time = variance_over_time(wholes, wholes, false);
  if (over_time <= sampling * likely_spread(wholes.size())) return;
  const double part = result.value / whole;
  const double uneven = (over_time - sampling) * part * part;
  const double all = result.variance + uneven;
  const double shaky = result.variance * result.variance / result.freedom +
                       uneven * uneven / static_cast<double>(wholes.size() - 1);
  result.freedom = clamp_freedom(shaky > 0 ? all * all / shaky : kManyDegrees);
  result.variance = all;
}

OneRun one_run(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
               const RunScale& run) {
  double sum = 0, whole = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += static_cast<double>(values[i]);
    whole += static_cast<double>(wholes[i]);
  }
  const bool share = run.of_whole || run.known_total > 0;
  const double times = run.of_whole ? 1 : run.known_total;
  const double factor = share ? (whole > 0 ? times / whole : 0) : run.factor;
  OneRun result;
  result.value = sum * factor;
  double variance = sampling_variance(sum, whole, run);
  if (!run.whole_run) {
    const double over_time = variance_over_time(values, wholes, share);
    // A spread that random samples would show in one case of twenty is no evidence of phases. Taking the
    // larger of the two anyway would widen every interval by chance.
    if (over_time > variance * likely_spread(values.size())) {
      variance = over_time;
      result.freedom = static_cast<double>(values.size() - 1);
    }
  }
  result.variance = variance * factor * factor;
  if (run.known_total > 0 && !run.of_whole && !run.whole_run && !run.of_work && whole > 0)
    add_uneven_load(result, wholes, whole, run);
  return result;
}

// The figure of a whole run.
double figure_of_all(std::span<const std::int64_t> wholes, const RunScale& run) {
  if (run.of_whole) return 1;
  if (run.known_total > 0) return run.known_total;
  double whole = 0;
  for (const std::int64_t piece : wholes) whole += static_cast<double>(piece);
  return whole * run.factor;
}

}  // namespace

Figure figure_of(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                 const std::vector<RunScale>& runs) {
  Figure figure;
  if (runs.empty()) return figure;
  const auto count = static_cast<double>(runs.size());
  std::vector<double> means;
  double within = 0, shaky = 0, lost = 0;
  std::size_t at = 0;
  for (const RunScale& run : runs) {
    const OneRun one = one_run(values.subspan(at, run.pieces), wholes.subspan(at, run.pieces), run);
    if (run.lost_spread > 0)
      lost += run.lost_spread * figure_of_all(wholes.subspan(at, run.pieces), run) / count;
    at += run.pieces;
    means.push_back(one.value);
    figure.mean += one.value / count;
    // Other programs slow all parts of a run alike.
    figure.starved += run.of_whole ? 0 : run.starved / count;
    figure.delayed += run.of_whole ? 0 : run.delayed / count;
    const double part = one.variance / (count * count);
    within += part;
    shaky += part * part / one.freedom;
  }
  figure.variance = within;
  figure.freedom = clamp_freedom(shaky > 0 ? within * within / shaky : kManyDegrees);
  figure.runs = runs.size();
  if (runs.size() == 1) {
    const RunScale& run = runs.front();
    figure.assumed_part = std::hypot(run.own_spread, run.total_spread);
    const double own = figure.assumed_part * figure.mean;
    const double least = run.least_spread * figure_of_all(wholes, run);
    figure.assumed = own * own + least * least;
    figure.variance += figure.assumed + lost * lost;
    return figure;
  }
  double between = 0;
  for (const double mean : means) between += (mean - figure.mean) * (mean - figure.mean);
  between /= (count - 1) * count;
  if (figure.mean != 0) figure.spread = std::sqrt(between * count) / std::fabs(figure.mean);
  if (between > figure.variance) {
    figure.variance = between;
    figure.freedom = count - 1;
  }
  figure.variance += lost * lost;
  return figure;
}

Figure with_spread_of(Figure figure, const Figure& other) {
  if (figure.runs != 1 || other.runs < 2) return figure;
  if (other.runs >= kRunsThatTell) {
    figure.variance = std::max(figure.variance - figure.assumed, 0.0);
    figure.assumed_part = 0;
  }
  const double apart = other.spread * figure.mean;
  if (apart * apart > figure.variance) {
    figure.variance = apart * apart;
    figure.freedom = static_cast<double>(other.runs - 1);
  }
  return figure;
}

Change change_of_runs(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                      const std::vector<RunScale>& runs, std::size_t base_runs) {
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(base_runs);
  const std::vector<RunScale> base(runs.begin(), middle), fresh(middle, runs.end());
  std::size_t first = 0;
  for (const RunScale& run : base) first += run.pieces;
  const Figure a = figure_of(values.first(first), wholes.first(first), base);
  const Figure b = figure_of(values.subspan(first), wholes.subspan(first), fresh);
  return change_between(with_spread_of(a, b), with_spread_of(b, a));
}

namespace {

// The variance of a change if nothing has changed: both sides are then the same size, and assumed fractions
// of a figure apply to the geometric mean of both. Applied to the larger figure, they would hide any factor
// as soon as they reach a third.
double variance_of_no_change(const Figure& base, const Figure& fresh) {
  double variance = base.variance + fresh.variance;
  if (!(base.mean > 0) || !(fresh.mean > 0)) return variance;
  const double between = base.mean * fresh.mean;  // the square of their geometric mean
  for (const Figure* figure : {&base, &fresh})
    variance += figure->assumed_part * figure->assumed_part * (between - figure->mean * figure->mean);
  return std::max(variance, 0.0);
}

}  // namespace

Change change_between(const Figure& base, const Figure& fresh) {
  Change change;
  change.base = base.mean;
  change.fresh = fresh.mean;
  change.change = fresh.mean - base.mean;
  const double variance = base.variance + fresh.variance;
  change.sd = std::sqrt(variance);
  change.base_sd = std::sqrt(base.variance);
  change.fresh_sd = std::sqrt(fresh.variance);
  const double shaky = (base.freedom > 0 ? base.variance * base.variance / base.freedom : 0) +
                       (fresh.freedom > 0 ? fresh.variance * fresh.variance / fresh.freedom : 0);
  change.freedom = clamp_freedom(shaky > 0 ? variance * variance / shaky : kManyDegrees);
  // Other programs may have made the smaller side this much too small, and the larger side this much too
  // large.
  change.less = base.starved + fresh.delayed;
  change.more = fresh.starved + base.delayed;
  const bool grew = change.change > 0;
  if (const double others = grew ? change.less : change.more; others > 0)
    change.slack = std::max(grew ? base.mean : fresh.mean, 0.0) * std::expm1(others);
  const double beyond = std::fabs(change.change) - change.slack;
  const double sd = change.sd_of_no_change = std::sqrt(variance_of_no_change(base, fresh));
  if (beyond <= 0) {
    change.p = 1;
  } else if (sd <= 0) {
    change.p = 0;
  } else {
    change.p = 2 * students_t_tail(beyond / sd, change.freedom);
  }
  return change;
}

double holm_level(std::vector<double> chances, double level) {
  std::sort(chances.begin(), chances.end());
  // Compares the smallest p-value with level / n, the next with level / (n - 1) ...; stops at the first
  // failure.
  std::size_t taken = 0;
  while (taken < chances.size() && chances[taken] <= level / static_cast<double>(chances.size() - taken))
    ++taken;
  return level / static_cast<double>(std::max<std::size_t>(chances.size() - taken, 1));
}

void Judge::judge(Change& change) {
  change.beyond_noise = change.looked_at && change.p <= single_ && change.change != 0;
  change.error = change.slack;
  if (change.sd <= 0) return;
  double& deviations = deviations_[change.freedom];
  if (deviations == 0) {
    deviations = students_t_upper_quantile(single_ / 2, change.freedom);
  }
  change.error = change.sd * deviations + change.slack;
}

void judge(Change& change, double single) {
  Judge(single).judge(change);
}

double detectable_change(const Change& change, double single) {
  const double noise = change.sd_of_no_change;
  return change.slack + (noise > 0 ? noise * students_t_upper_quantile(single / 2, change.freedom) : 0);
}

}  // namespace fathom::analysis
