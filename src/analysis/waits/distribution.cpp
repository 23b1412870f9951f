#include "analysis/waits/distribution.h"

#include <algorithm>
#include <array>
#include <bit>

namespace fathom::analysis {

void Distribution::add(std::uint64_t ns, WaitWeight weight) {
  sum_.add(ns, weight);
  if (ns < kPackedNs && weight.count < kPackedWeight)
    packed_.push_back(ns << kWeightBits | weight.count);
  else
    others_.emplace_back(ns, weight.count);
  sorted_ = false;
}

std::uint64_t Distribution::quantile_ns(double share) const {
  if (!sorted_) {
    std::sort(packed_.begin(), packed_.end());
    std::sort(others_.begin(), others_.end());
  }
  sorted_ = true;
  const double wanted = share * sum_.waits();
  double seen = 0;
  std::uint64_t ns = 0;
  auto packed = packed_.begin();
  auto other = others_.begin();
  while (packed != packed_.end() || other != others_.end()) {
    if (other == others_.end() || (packed != packed_.end() && ns_of(*packed) <= other->first)) {
      ns = ns_of(*packed);
      seen += weight_of(*packed++);
    } else {
      ns = other->first;
      seen += (other++)->second;
    }
    if (seen >= wanted) break;
  }
  return ns;
}

std::vector<Distribution::Bucket> Distribution::histogram() const {
  std::array<WaitSum, 65> sums{};
  std::size_t first = sums.size(), last = 0;
  const auto count = [&](std::uint64_t ns, std::uint32_t weight) {
    const auto bucket = static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(ns, 1)));
    sums[bucket].add(ns, weight);
    first = std::min(first, bucket);
    last = std::max(last, bucket);
  };
  for (const std::uint64_t packed : packed_) count(ns_of(packed), weight_of(packed));
  for (const auto& [ns, weight] : others_) count(ns, weight);
  std::vector<Bucket> buckets;
  for (std::size_t i = first; i <= last && i < sums.size(); ++i)
    buckets.push_back({std::uint64_t{1} << (i - 1), sums[i].waits(), sums[i].waits_error()});
  return buckets;
}

}  // namespace fathom::analysis
