#include "record/heap/sites.h"

#include <algorithm>
#include <cmath>

namespace fathom::sources::heap {

const SiteVariances Sites::kNoVariances;

Weight sampled_weight(std::uint64_t size, std::uint64_t mean) {
  const double bytes = static_cast<double>(std::max<std::uint64_t>(size, 1));
  const double missed = std::exp(-bytes / static_cast<double>(std::max<std::uint64_t>(mean, 1)));
  const double seen = -std::expm1(-bytes / static_cast<double>(std::max<std::uint64_t>(mean, 1)));
  const double blocks = 1 / seen;
  const double variance = missed / (seen * seen);
  const double real = static_cast<double>(size);
  return {{blocks, blocks * real}, {variance, variance * real * real}};
}

Sites::Sites(std::uint32_t max_sites, bool by_thread)
    : max_sites_(std::max<std::uint32_t>(max_sites, 16)), by_thread_(by_thread) {
  // All their places at once, as memory that is not touched costs nothing: growing would copy up to 33 MB
  // while the rings fill.
  rows_.reserve(max_sites_);
  counts_.reserve(std::size_t{max_sites_} * 2 * kBuckets);
  site({});  // site 0: nothing known, for all that finds no room
}

std::uint32_t Sites::site(const SiteKey& wanted) {
  SiteKey key = wanted;
  if (!by_thread_) key.tid = 0;
  auto found = ids_.find(key);
  if (found == ids_.end() && key.tid != 0 && size() >= max_sites_ / 2) {
    key.tid = 0;
    found = ids_.find(key);
  }
  if (found != ids_.end()) return found->second;
  // A few are kept for the allocators without stack.
  if (size() >= max_sites_ - (key.stack != 0 ? 8 : 0)) {
    if (key.stack == 0) return 0;
    ++merged_;
    return site({0, 0, key.allocator});
  }
  const std::uint32_t id = size();
  ids_.emplace(key, id);
  keys_.push_back(key);
  rows_.emplace_back();
  totals_.emplace_back();
  counts_.resize(counts_.size() + 2 * kBuckets);
  return id;
}

void Sites::keep_peak(std::uint32_t site, Row& row) {
  row.at_peak = row.live;
  row.epoch = epoch_;
  if (site < variances_.size()) variances_[site].peak = variances_[site].live;
}

void Sites::add_variance(std::uint32_t site, const Sum& variance) {
  SiteVariances& variances = variance_of(site);
  variances.live.add(variance);
  variances.allocated.add(variance);
}

void Sites::subtract_variance(std::uint32_t site, const Sum& variance, bool in_slice) {
  SiteVariances& variances = variance_of(site);
  variances.live.subtract(variance);
  variances.freed.add(variance);
  if (in_slice) variances.churn.add(variance);
}

void Sites::estimate(std::size_t at, double blocks) {
  if (at >= estimates_.size()) estimates_.resize(counts_.size());
  estimates_[at] += static_cast<float>(blocks);
}

double Sites::blocks_in(std::uint32_t site, Histogram kind, unsigned bucket) const {
  const std::size_t at =
      std::size_t{site} * 2 * kBuckets + static_cast<std::size_t>(kind) * kBuckets + bucket;
  double blocks = counts_[at];
  if (!carries_.empty())  // nearly never: asked for each bucket of each site
    if (const auto carry = carries_.find(at); carry != carries_.end()) blocks += 4294967296.0 * carry->second;
  if (at < estimates_.size()) blocks += static_cast<double>(estimates_[at]);
  return blocks;
}

std::vector<std::pair<unsigned, Sum>> Sites::histogram(std::uint32_t site, Histogram kind) const {
  const auto middle = [kind](unsigned bucket) {
    return kind == Histogram::kLifetime ? 1
           : bucket == 0                ? 0
                                        : 1.5 * std::ldexp(1.0, static_cast<int>(bucket) - 1);
  };
  std::vector<std::pair<unsigned, Sum>> rows;
  double weights = 0;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    const double blocks = blocks_in(site, kind, bucket);
    if (blocks == 0) continue;
    rows.push_back({bucket, {blocks, blocks * middle(bucket)}});
    weights += blocks * middle(bucket);
  }
  const Sum all = kind == Histogram::kSize ? allocated(site) : freed(site);
  for (auto& row : rows) row.second.bytes = weights > 0 ? all.bytes * (row.second.bytes / weights) : 0;
  return rows;
}

Sum Sites::allocated(std::uint32_t site) const {
  Sum sum = totals_[site].allocated;
  sum.add(rows_[site].allocated);
  return sum;
}

Sum Sites::freed(std::uint32_t site) const {
  Sum sum = totals_[site].freed;
  sum.add(rows_[site].freed);
  return sum;
}

SiteVariances& Sites::variance_of(std::uint32_t site) {
  if (site >= variances_.size()) variances_.resize(keys_.size());
  return variances_[site];
}

void Sites::next_slice(std::uint64_t ticks) {
  for (const std::uint32_t site : changed_) {
    Row& row = rows_[site];
    totals_[site].allocated.add(row.allocated);
    totals_[site].freed.add(row.freed);
    row.allocated = row.freed = row.temporary = row.short_lived = {};
    row.changed = false;
    if (site < variances_.size()) {
      SiteVariances& variances = variances_[site];
      variances.allocated = variances.freed = variances.churn = {};
    }
  }
  changed_.clear();
  slice_peak_ = {live_, ticks};
}

}  // namespace fathom::sources::heap
