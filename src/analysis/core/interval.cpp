#include "analysis/core/interval.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/quantiles.h"

namespace fathom::analysis {

Interval wilson_interval(double share, double samples) {
  if (!(samples > 0)) return {};
  constexpr double z = 1.959964;  // 97.5 % quantile of the normal distribution
  share = std::clamp(share, 0.0, 1.0);
  const double correction = z * z / samples;
  const double centre = (share + correction / 2) / (1 + correction);
  const double half =
      z * std::sqrt(share * (1 - share) / samples + correction / (4 * samples)) / (1 + correction);
  return {std::max(0.0, std::min(share, centre - half)), std::min(1.0, std::max(share, centre + half))};
}

AmountInterval poisson_interval(double amount, double samples) {
  if (!(amount > 0) || !std::isfinite(amount)) return {};
  constexpr double kTail = 0.025, kMostSamples = 1e9;
  const double count = std::isnan(samples) ? 1 : std::clamp(samples, 1.0, kMostSamples);
  const double weight = amount / count;
  return {weight * gamma_quantile(kTail, count), weight * gamma_upper_quantile(kTail, count + 1)};
}

}  // namespace fathom::analysis
