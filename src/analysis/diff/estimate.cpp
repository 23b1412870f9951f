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
  double part_left = 1;  // of the binomial variance n p (1 - p)
  if (run.of_whole) {
    part_left = whole > 0 ? 1 - value / whole : 1;
  } else if (run.most > 0) {
    part_left = 1 - value / run.most;
  }
  return run.weight * std::max(value * std::max(part_left, 0.0), run.weight);
}

// Of the sum over the pieces, as if each had been drawn from one distribution, with the correlation of pieces near one
// another. 0 where there are too few.
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
  // Neighbours without anything in common have such a covariance in one case of forty; adding it would only add noise.
  if (covariance(1) * std::sqrt(static_cast<double>(count)) <= 2 * alone)
    return static_cast<double>(count) * alone;
  double together = alone;
  constexpr std::size_t kLags = 2;
  for (std::size_t lag = 1; lag <= kLags; ++lag)
    together += 2 * (1 - static_cast<double>(lag) / (kLags + 1)) * covariance(lag);
  return static_cast<double>(count) * std::max(alone, together);
}

// Of so many pieces, their spread over what is expected of chance alone: 19 times out of 20 it is less.
double likely_spread(std::size_t pieces) {
  if (pieces < kLeastPieces) return 1;
  const auto spread = [](std::size_t count) {
    const auto freedom = static_cast<double>(count - 1);
    return chi_squared_quantile(0.95, freedom) / freedom;
  };
  static const double usual = spread(kUsualPieces);  // asked for every figure, and always the same
  return pieces == kUsualPieces ? usual : spread(pieces);
}

struct OneRun {
  double value = 0, variance = 0, freedom = kManyDegrees;
};

OneRun one_run(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
               const RunScale& run) {
  double sum = 0, whole = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += static_cast<double>(values[i]);
    whole += static_cast<double>(wholes[i]);
  }
  const double factor = run.of_whole ? (whole > 0 ? 1 / whole : 0) : run.factor;
  OneRun result;
  result.value = sum * factor;
  double variance = sampling_variance(sum, whole, run);
  if (!run.whole_run) {
    const double over_time = variance_over_time(values, wholes, run.of_whole);
    // A spread that samples drawn at random would show in one case of twenty says nothing of phases; taking the larger of the
    // two all the same would widen every interval by what chance adds to one of them.
    if (over_time > variance * likely_spread(values.size())) {
      variance = over_time;
      result.freedom = static_cast<double>(values.size() - 1);
    }
  }
  result.variance = variance * factor * factor;
  return result;
}

}  // namespace

Figure figure_of(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                 const std::vector<RunScale>& runs) {
  Figure figure;
  if (runs.empty()) return figure;
  const auto count = static_cast<double>(runs.size());
  std::vector<double> means;
  double within = 0, shaky = 0;
  std::size_t at = 0;
  for (const RunScale& run : runs) {
    const OneRun one = one_run(values.subspan(at, run.pieces), wholes.subspan(at, run.pieces), run);
    at += run.pieces;
    means.push_back(one.value);
    figure.mean += one.value / count;
    const double part = one.variance / (count * count);
    within += part;
    shaky += part * part / one.freedom;
  }
  figure.variance = within;
  figure.freedom = clamp_freedom(shaky > 0 ? within * within / shaky : kManyDegrees);
  figure.runs = runs.size();
  if (runs.size() == 1) {
    const RunScale& run = runs.front();
    double whole = 0;
    for (const std::int64_t piece : wholes) whole += static_cast<double>(piece);
    const double own = run.own_spread * figure.mean;
    const double least = run.least_spread * (run.of_whole ? 1 : whole * run.factor);
    figure.assumed = own * own + least * least;
    figure.variance += figure.assumed;
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
  return figure;
}

Figure with_spread_of(Figure figure, const Figure& other) {
  if (figure.runs != 1 || other.runs < 2) return figure;
  if (other.runs >= kRunsThatTell) figure.variance = std::max(figure.variance - figure.assumed, 0.0);
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

Change change_between(const Figure& base, const Figure& fresh) {
  Change change;
  change.base = base.mean;
  change.fresh = fresh.mean;
  change.change = fresh.mean - base.mean;
  const double variance = base.variance + fresh.variance;
  change.sd = std::sqrt(variance);
  const double shaky = (base.freedom > 0 ? base.variance * base.variance / base.freedom : 0) +
                       (fresh.freedom > 0 ? fresh.variance * fresh.variance / fresh.freedom : 0);
  change.freedom = clamp_freedom(shaky > 0 ? variance * variance / shaky : kManyDegrees);
  if (change.change == 0) {
    change.p = 1;
  } else if (change.sd <= 0) {
    change.p = 0;
  } else {
    change.p = 2 * students_t_tail(std::fabs(change.change) / change.sd, change.freedom);
  }
  return change;
}

double holm_level(std::vector<double> chances, double level) {
  std::sort(chances.begin(), chances.end());
  // The smallest chance is held against level / n, the next against level / (n - 1) ...; the first that fails ends it.
  std::size_t taken = 0;
  while (taken < chances.size() && chances[taken] <= level / static_cast<double>(chances.size() - taken))
    ++taken;
  return level / static_cast<double>(std::max<std::size_t>(chances.size() - taken, 1));
}

void Judge::judge(Change& change) {
  change.beyond_noise = change.looked_at && change.p <= single_ && change.change != 0;
  change.error = 0;
  if (change.sd <= 0) return;
  double& deviations = deviations_[change.freedom];
  if (deviations == 0) {
    deviations = students_t_upper_quantile(single_ / 2, change.freedom);
  }
  change.error = change.sd * deviations;
}

void judge(Change& change, double single) {
  Judge(single).judge(change);
}

}  // namespace fathom::analysis
