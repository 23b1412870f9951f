// Keeps the service below a share of a core: after each period it chooses the sampling rate of the next one from what the last one
// cost. A lower rate makes each sample stand for more time (model::Meta::frequency_hz of the window), so sums stay right on average
// however often the rate changes. Pure.
#pragma once

#include <cstdint>

namespace fathom::serve {

struct GovernorOptions {
  double budget = 0.01;  // of one core
  std::uint32_t most_hz = 99, least_hz = 5;
};

class Governor {
 public:
  explicit Governor(GovernorOptions options) : options_(options), hz_(options.most_hz) {}

  // `cost`: share of a core that fathom used in the period that has ended, all of whose samples were taken at rate(). Returns the rate
  // of the next period.
  std::uint32_t period_ended(double cost);
  std::uint32_t rate() const { return hz_; }
  // The cost stays above the budget at the lowest rate: it comes from switches and processes, and not from samples.
  bool is_beyond_reach() const { return beyond_; }

 private:
  GovernorOptions options_;
  std::uint32_t hz_;
  double smoothed_ = -1;
  std::uint32_t calm_periods_ = 0;
  bool beyond_ = false;
};

}  // namespace fathom::serve
