// How long the waits of a group took. Each wait counts for all that it stands for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/core/waits.h"

namespace fathom::analysis {

class Distribution {
 public:
  void add(std::uint64_t ns, WaitWeight weight);
  const WaitSum& sum() const { return sum_; }
  // The shortest duration that at least this share of the waits does not exceed; 0 without waits. Exact for
  // weights of 1; otherwise the estimate that the weights give.
  std::uint64_t quantile_ns(double share) const;

  // Waits of at least `from_ns` and less than twice that; the first bucket also has 0. Without gaps.
  struct Bucket {
    std::uint64_t from_ns;
    double waits;
    double error = 0;  // half of the 95 % interval; 0 where each wait stands for itself
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> histogram() const;

 private:
  WaitSum sum_;
  mutable bool sorted_ = true;
  mutable std::vector<std::pair<std::uint64_t, std::uint32_t>> waits_;  // duration and weight
};

}  // namespace fathom::analysis
