#include "analysis/waits/distribution.h"

#include <algorithm>
#include <array>
#include <bit>

namespace fathom::analysis {

void Distribution::add(std::uint64_t ns, WaitWeight weight) {
  sum_.add(ns, weight);
  waits_.emplace_back(ns, weight.count);
  sorted_ = false;
}

std::uint64_t Distribution::quantile_ns(double share) const {
  if (waits_.empty()) return 0;
  if (!sorted_) std::sort(waits_.begin(), waits_.end());
  sorted_ = true;
  const double wanted = share * sum_.waits();
  double seen = 0;
  for (const auto& [ns, weight] : waits_) {
    seen += weight;
    if (seen >= wanted) return ns;
  }
  return waits_.back().first;
}

std::vector<Distribution::Bucket> Distribution::histogram() const {
  std::array<WaitSum, 65> sums{};
  std::size_t first = sums.size(), last = 0;
  for (const auto& [ns, weight] : waits_) {
    const auto bucket = static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(ns, 1)));
    sums[bucket].add(ns, weight);
    first = std::min(first, bucket);
    last = std::max(last, bucket);
  }
  std::vector<Bucket> buckets;
  for (std::size_t i = first; i <= last && i < sums.size(); ++i)
    buckets.push_back({std::uint64_t{1} << (i - 1), sums[i].waits(), sums[i].waits_error()});
  return buckets;
}

}  // namespace fathom::analysis
