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
  cells_.resize(cells_.size() + 2);
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

void Sites::more_cells(Cells& of) {
  const std::uint32_t room = of.room == 0 ? 4 : of.room * 2u;  // 4, 8 ... 64
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
  std::copy_n(pool_.begin() + of.start, of.used, pool_.begin() + start);
  if (of.room != 0) free_runs_[static_cast<std::size_t>(bucket_of(of.room) - 1)].push_back(of.start);
  of.start = start;
  of.room = static_cast<std::uint8_t>(room);
}

SiteVariances& Sites::variance_of(std::uint32_t site) {
  if (site >= variances_.size()) variances_.resize(keys_.size());
  return variances_[site];
}

void Sites::next_slice(std::uint64_t ticks) {
  for (const std::uint32_t site : changed_) {
    Row& row = rows_[site];
    row.allocated = row.freed = row.temporary = row.brief = {};
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
