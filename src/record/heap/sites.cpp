#include "record/heap/sites.h"

#include <algorithm>
#include <cmath>

namespace fathom::record::heap {

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
  cells_.emplace_back();
  return id;
}

void Sites::keep_peak(std::uint32_t site, Row& row) {
  row.at_peak = row.live;
  row.epoch = epoch_;
  if (site < variances_.size()) variances_[site].peak = variances_[site].live;
}

void Sites::allocate(std::uint32_t site, const Weight& weight, std::uint64_t size, std::uint64_t ticks) {
  Row& row = touch(site);
  row.live.add(weight.sum);
  row.slice.allocated.add(weight.sum);
  if (weight.variance.blocks != 0) {
    SiteVariances& variances = variance_of(site);
    variances.live.add(weight.variance);
    variances.allocated.add(weight.variance);
  }
  count(site, Histogram::kSize, size, weight.sum);
  live_.add(weight.sum);
  if (live_.bytes <= slice_peak_.sum.bytes) return;
  slice_peak_ = {live_, ticks};
  if (live_.bytes <= peak_.sum.bytes) return;
  peak_ = {live_, ticks};
  ++epoch_;
}

void Sites::free(std::uint32_t site, const Weight& weight, const Freed& freed) {
  constexpr std::uint64_t kBriefNs = 1'000'000;
  Row& row = touch(site);
  row.live.subtract(weight.sum);
  row.slice.freed.add(weight.sum);
  if (freed.temporary) row.slice.temporary.add(weight.sum);
  if (freed.lifetime_ns < kBriefNs) row.slice.brief.add(weight.sum);
  row.longest_ticks = std::max(row.longest_ticks, freed.lifetime_ticks);
  if (weight.variance.blocks != 0) {
    SiteVariances& variances = variance_of(site);
    variances.live.subtract(weight.variance);
    variances.freed.add(weight.variance);
    if (freed.in_slice) variances.churn.add(weight.variance);
  }
  count(site, Histogram::kLifetime, freed.lifetime_ns, weight.sum);
  live_.subtract(weight.sum);
}

void Sites::count(std::uint32_t site, Histogram kind, std::uint64_t value, const Sum& sum) {
  Cells& cells = cells_[site];
  const unsigned bucket = std::min(bucket_of(value), kBuckets - 1);
  std::uint8_t& cell = cells.number[kind == Histogram::kSize ? 0 : 1][bucket];
  if (cell == 0) {
    if (cells.used == cells.room) more_cells(cells);
    cell = ++cells.used;
  }
  pool_[cells.start + cell - 1].add(sum);
}

void Sites::more_cells(Cells& cells) {
  const std::uint32_t room = cells.room == 0 ? 4 : cells.room * 2u;  // 4, 8 ... 128: 98 buckets fit
  const auto log = static_cast<std::size_t>(bucket_of(room) - 1);
  std::uint32_t start = 0;
  if (!free_runs_[log].empty()) {
    start = free_runs_[log].back();
    free_runs_[log].pop_back();
    std::fill_n(pool_.begin() + start, room, Sum{});
  } else {
    start = static_cast<std::uint32_t>(pool_.size());
    pool_.resize(pool_.size() + room);
  }
  std::copy_n(pool_.begin() + cells.start, cells.used, pool_.begin() + start);
  if (cells.room != 0) free_runs_[static_cast<std::size_t>(bucket_of(cells.room) - 1)].push_back(cells.start);
  cells.start = start;
  cells.room = static_cast<std::uint8_t>(room);
}

SiteVariances& Sites::variance_of(std::uint32_t site) {
  if (site >= variances_.size()) variances_.resize(keys_.size());
  return variances_[site];
}

void Sites::next_slice(std::uint64_t ticks) {
  for (const std::uint32_t site : changed_) {
    Row& row = rows_[site];
    row.slice = {};
    row.changed = false;
    if (site < variances_.size()) {
      SiteVariances& variances = variances_[site];
      variances.allocated = variances.freed = variances.churn = {};
    }
  }
  changed_.clear();
  slice_peak_ = {live_, ticks};
}

std::uint64_t Sites::memory_bytes() const {
  std::uint64_t runs = 0;
  for (const auto& run : free_runs_) runs += run.capacity() * sizeof(std::uint32_t);
  return keys_.capacity() * sizeof(SiteKey) + rows_.capacity() * sizeof(Row) +
         cells_.capacity() * sizeof(Cells) + pool_.capacity() * sizeof(Sum) +
         variances_.capacity() * sizeof(SiteVariances) + changed_.capacity() * 4 + ids_.size() * 48 + runs;
}

}  // namespace fathom::record::heap
