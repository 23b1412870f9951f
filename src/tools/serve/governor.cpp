#include "tools/serve/governor.h"

#include <algorithm>
#include <cmath>

namespace fathom::serve {

// Down at once, since the budget is a promise; up after three calm periods, so that a target that works in bursts does not change its
// rate at each of them. The new rate aims at four fifths of the budget: a part of the cost does not depend on the rate, so the next
// period may cost more than the rule of three says. For the same reason a period is calm well above half of the budget: a low rate
// costs little less than a high one, and would never look cheap enough to rise again.
std::uint32_t Governor::period_ended(double cost) {
  constexpr double kAim = 0.8, kCalm = 0.75;
  constexpr std::uint32_t kCalmPeriods = 3;
  smoothed_ = smoothed_ < 0 ? cost : 0.5 * smoothed_ + 0.5 * cost;
  const double measured = std::max(cost, smoothed_);
  beyond_ = hz_ == options_.least_hz && measured > options_.budget;
  if (cost > options_.budget) {
    calm_periods_ = 0;
    const double wanted = hz_ * kAim * options_.budget / cost;
    hz_ = std::clamp(static_cast<std::uint32_t>(wanted), options_.least_hz, options_.most_hz);
    smoothed_ = -1;  // it was measured at another rate
    return hz_;
  }
  calm_periods_ = measured < kCalm * options_.budget ? calm_periods_ + 1 : 0;
  if (calm_periods_ < kCalmPeriods || hz_ == options_.most_hz) return hz_;
  calm_periods_ = 0;
  const double wanted = hz_ * std::min(2.0, kAim * options_.budget / std::max(measured, 1e-9));
  hz_ = std::clamp(static_cast<std::uint32_t>(std::ceil(wanted)), options_.least_hz, options_.most_hz);
  smoothed_ = -1;
  return hz_;
}

}  // namespace fathom::serve
