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
  // Shorter than five hours and with a weight below a million, as nearly all are: both in eight bytes, because an hour of a server
  // has millions of them.
  static constexpr unsigned kWeightBits = 20;
  static constexpr std::uint64_t kPackedNs = std::uint64_t{1} << (64 - kWeightBits);
  static constexpr std::uint32_t kPackedWeight = std::uint32_t{1} << kWeightBits;
  static std::uint64_t ns_of(std::uint64_t packed) { return packed >> kWeightBits; }
  static std::uint32_t weight_of(std::uint64_t packed) {
    return static_cast<std::uint32_t>(packed & (kPackedWeight - 1));
  }
  mutable bool sorted_ = true;
  mutable std::vector<std::uint64_t> packed_;                            // duration and weight
  mutable std::vector<std::pair<std::uint64_t, std::uint32_t>> others_;  // the same
};

}  // namespace fathom::analysis
