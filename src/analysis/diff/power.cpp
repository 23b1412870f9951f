#include "analysis/diff/power.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/quantiles.h"

namespace fathom::analysis {
namespace {

constexpr double kChanceOfAMistake = 0.05;  // that any unchanged figure is called changed, as in holm_level()
constexpr double kSeen = 0.8;               // four times out of five
constexpr std::size_t kMostRuns = 1000;

}  // namespace

Power power_of(const DiffReport& report, const Change& figure, double change) {
  Power power;
  power.change = change;
  const double size = std::max(figure.base, figure.fresh);
  if (!(size > 0) || !(change > 0) || !(figure.sd > 0)) return power;
  // Holm's level for one figure depends on how many others changed in these recordings. For future recordings
  // only the number of figures is known.
  const double level = kChanceOfAMistake / static_cast<double>(std::max<std::size_t>(report.looked_at, 1));
  const double needed = normal_quantile(1 - level / 2) + normal_quantile(kSeen);
  power.detected = needed * figure.sd / size;

  // The part of the variance that longer recordings reduce, and the part that they do not: the spread between
  // runs.
  const bool single = report.base_runs == 1 && report.tree.runs == 2;
  const double spread = single ? report.own_spread * std::sqrt(2.0) * size : 0;
  const double by_time = std::max(figure.sd * figure.sd - spread * spread, 0.0);
  const double wanted = change * size / needed;  // the standard deviation that would be enough
  const double room = wanted * wanted - spread * spread;
  if (room > 0) {
    power.times_longer = std::max(by_time / room, 0.0);
    const double seconds = std::max(report.base.seconds, report.fresh.seconds);
    power.seconds = seconds * power.times_longer;
  }
  // Several runs of this length: Student's t with their number.
  const double of_one = figure.sd * std::sqrt(single ? 1.0 : static_cast<double>(report.tree.runs) / 2);
  for (std::size_t runs = 2; runs <= kMostRuns; runs += runs < 50 ? 1 : 10) {
    const double freedom = 2 * (static_cast<double>(runs) - 1);
    const double quantiles = students_t_upper_quantile(level / 2, freedom) + normal_quantile(kSeen);
    if (of_one / std::sqrt(static_cast<double>(runs)) * quantiles <= change * size) {
      power.runs = runs;
      break;
    }
  }
  return power;
}

}  // namespace fathom::analysis
