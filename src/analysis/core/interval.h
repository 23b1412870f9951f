// How certain a share is that was found by sampling.
#pragma once

namespace fathom::analysis {

// Both ends are shares, 0 to 1.
struct Interval {
  double low = 0;
  double high = 1;
  double half_width() const { return (high - low) / 2; }
};

// The Wilson score interval at 95 %: honest for small counts and for shares near 0 and 1, where the normal
// approximation gives negative shares or no width at all. `samples` may be fractional (effective samples); 0
// samples say nothing: 0 to 1. Source: E. B. Wilson 1927; sampling ticks are taken as independent.
Interval wilson_interval(double share, double samples);

// Of an amount that rests on so many samples of a mean weight: the exact 95 % interval of a Poisson count, which holds
// for one sample as well, where a symmetric one would reach below zero. `samples`: fractional where weights differ, 1 at
// least. Source: F. Garwood 1936, "Fiducial limits for the Poisson distribution".
struct AmountInterval {
  double low = 0, high = 0;
};
AmountInterval poisson_interval(double amount, double samples);

}  // namespace fathom::analysis
