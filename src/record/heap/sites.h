// What happened to the blocks of each site: a stack, an allocator and, where threads are told apart, the
// thread that allocated. Numbers only; which block is whose is the business of LiveSet.
//
// The composition of the peak is exact and costs nothing per event: the peak has a number that grows with
// each new one, and a site keeps what it had live at the last peak when it first changes after it. Whoever
// did not change since still has it live. The alternative, copying all sites at each new peak, would cost a
// copy per allocation while the heap grows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/heap/huge_pages.h"

namespace fathom::record::heap {

// Blocks and bytes; estimates where sampled, whole numbers (exact up to 2^53) else.
struct Sum {
  double blocks = 0, bytes = 0;
  bool operator==(const Sum&) const = default;
  void add(Sum more) {
    blocks += more.blocks;
    bytes += more.bytes;
  }
  void subtract(Sum less) {
    blocks -= less.blocks;
    bytes -= less.bytes;
  }
};

// What one seen block stands for, and the variance of that.
struct Weight {
  Sum sum, variance;
};
inline Weight exact_weight(std::uint64_t size) {
  return {{1, static_cast<double>(size)}, {}};
}
// A block of `size` that was sampled with this mean: it was with probability 1 - exp(-size / mean).
Weight sampled_weight(std::uint64_t size, std::uint64_t mean);

struct SiteKey {
  std::uint32_t stack = 0;  // of StackTable
  std::uint32_t tid = 0;    // 0: threads are not told apart
  std::uint32_t allocator = 0;
  bool operator==(const SiteKey&) const = default;
};

// Of one slice of time.
struct SiteSlice {
  Sum allocated, freed, temporary, brief;
};
struct SiteVariances {
  Sum live, peak;               // of all time so far
  Sum allocated, freed, churn;  // of the slice
};

enum class Histogram : std::uint8_t { kSize, kLifetime };
// 0: 0; else the number of bits, so that bucket b is 2^(b-1) up to less than 2^b.
inline unsigned bucket_of(std::uint64_t value) {
  return value == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(value));
}

class Sites {
 public:
  // Beyond half of `max_sites` threads are no longer told apart, beyond all of it nor are stacks.
  Sites(std::uint32_t max_sites, bool by_thread);

  std::uint32_t site(const SiteKey& key);
  // Whether this site is the one of that key, if the key's thread counts.
  bool is(std::uint32_t site, std::uint32_t allocator, std::uint32_t tid) const {
    const SiteKey& key = keys_[site];
    return key.allocator == allocator && (key.tid == tid || !by_thread_);
  }

  // Sums are taken by value and all of this is inline: written to memory in halves and read back as a whole
  // they would cost more than all else.
  void allocate(std::uint32_t site, const Weight& weight, std::uint64_t size, std::uint64_t ticks) {
    const Sum sum = weight.sum;
    Row& row = touch(site);
    row.live.add(sum);
    row.allocated.add(sum);
    if (weight.variance.blocks != 0) add_variance(site, weight.variance);
    count(site, Histogram::kSize, size, sum);
    live_.add(sum);
    if (live_.bytes <= slice_peak_.sum.bytes) return;
    slice_peak_ = {live_, ticks};
    if (live_.bytes <= peak_.sum.bytes) return;
    peak_ = {live_, ticks};
    ++epoch_;
  }
  struct Freed {
    std::uint64_t lifetime_ns = 0, lifetime_ticks = 0;
    bool temporary = false;
    bool in_slice = false;  // it was allocated in this slice too
  };
  void free(std::uint32_t site, const Weight& weight, Freed freed) {
    constexpr std::uint64_t kBriefNs = 1'000'000;
    const Sum sum = weight.sum;
    Row& row = touch(site);
    row.live.subtract(sum);
    row.freed.add(sum);
    if (freed.temporary) row.temporary.add(sum);
    if (freed.lifetime_ns < kBriefNs) row.brief.add(sum);
    row.longest_ticks = std::max(row.longest_ticks, freed.lifetime_ticks);
    if (weight.variance.blocks != 0) subtract_variance(site, weight.variance, freed.in_slice);
    count(site, Histogram::kLifetime, freed.lifetime_ns, sum);
    live_.subtract(sum);
  }
  // Brings what an allocation, or a free, changes of a site into the cache, some 50 events before it is
  // needed.
  void prefetch(std::uint32_t site, Histogram kind) const {
    __builtin_prefetch(&rows_[site], 1);
    if (kind == Histogram::kLifetime) __builtin_prefetch(&rows_[site].at_peak, 1);
    __builtin_prefetch(&cells(site, kind));
  }
  // After that, its place in a histogram.
  void prefetch(std::uint32_t site, Histogram kind, std::uint64_t value) const {
    const Cells& of = cells(site, kind);
    const std::uint8_t cell = of.number[std::min(bucket_of(value), kBuckets - 1)];
    if (cell != 0) __builtin_prefetch(&pool_[of.start + cell - 1], 1);
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(keys_.size()); }
  const SiteKey& key(std::uint32_t site) const { return keys_[site]; }
  std::uint64_t merged() const { return merged_; }

  // Of all sites together.
  const Sum& live() const { return live_; }
  struct Peak {
    Sum sum;
    std::uint64_t ticks = 0;
  };
  const Peak& peak() const { return peak_; }
  const Peak& slice_peak() const { return slice_peak_; }

  // Sites that something happened to in this slice.
  const std::vector<std::uint32_t>& changed() const { return changed_; }
  SiteSlice slice(std::uint32_t site) const {
    const Row& row = rows_[site];
    return {row.allocated, row.freed, row.temporary, row.brief};
  }
  const SiteVariances& variances(std::uint32_t site) const {
    return site < variances_.size() ? variances_[site] : kNoVariances;
  }
  void next_slice(std::uint64_t ticks);

  // Of all time.
  Sum live(std::uint32_t site) const { return rows_[site].live; }
  Sum at_peak(std::uint32_t site) const {
    return rows_[site].epoch == epoch_ ? rows_[site].at_peak : rows_[site].live;
  }
  Sum variance_at_peak(std::uint32_t site) const {
    return rows_[site].epoch == epoch_ ? variances(site).peak : variances(site).live;
  }
  std::uint64_t longest_ticks(std::uint32_t site) const { return rows_[site].longest_ticks; }
  // visit(bucket, Sum) for each bucket that is not empty, in their order.
  template <class Visit>
  void for_each_bucket(std::uint32_t site, Histogram kind, const Visit& visit) const {
    const Cells& of = cells(site, kind);
    for (unsigned bucket = 0; bucket < kBuckets; ++bucket)
      if (const std::uint8_t cell = of.number[bucket]; cell != 0) visit(bucket, pool_[of.start + cell - 1]);
  }
  std::uint64_t memory_bytes() const;

 private:
  // The first 64 bytes are what every event changes.
  struct alignas(64) Row {
    Sum live, allocated, freed;  // the latter two of the slice, as all below but at_peak
    std::uint64_t epoch = 0;     // of the peak that at_peak is of
    bool changed = false;
    Sum at_peak, temporary, brief;
    std::uint64_t longest_ticks = 0;  // of all time
  };
  static_assert(sizeof(Row) == 128);
  // Sizes and lifetimes of 2^47 and more (128 TiB, 39 hours) share the last bucket.
  static constexpr unsigned kBuckets = 49;
  // One histogram of one site. Most have one size and a few lifetimes: sums are handed out as they are
  // needed, in runs that double.
  struct alignas(64) Cells {
    std::uint32_t start = 0;  // of the run in pool_
    std::uint8_t used = 0, room = 0;
    std::uint8_t number[kBuckets] = {};  // 1 + place in the run; 0: the bucket is empty
  };
  static_assert(sizeof(Cells) == 64);
  Cells& cells(std::uint32_t site, Histogram kind) {
    return cells_[std::size_t{site} * 2 + static_cast<std::size_t>(kind)];
  }
  const Cells& cells(std::uint32_t site, Histogram kind) const {
    return cells_[std::size_t{site} * 2 + static_cast<std::size_t>(kind)];
  }

  Row& touch(std::uint32_t site) {
    Row& row = rows_[site];
    if (row.epoch != epoch_) keep_peak(site, row);
    if (!row.changed) {
      row.changed = true;
      changed_.push_back(site);
    }
    return row;
  }
  void keep_peak(std::uint32_t site, Row& row);
  void count(std::uint32_t site, Histogram kind, std::uint64_t value, Sum sum) {
    Cells& of = cells(site, kind);
    std::uint8_t& cell = of.number[std::min(bucket_of(value), kBuckets - 1)];
    if (cell == 0) {
      if (of.used == of.room) more_cells(of);
      cell = ++of.used;
    }
    pool_[of.start + cell - 1].add(sum);
  }
  void add_variance(std::uint32_t site, const Sum& variance);
  void subtract_variance(std::uint32_t site, const Sum& variance, bool in_slice);
  void more_cells(Cells& of);
  SiteVariances& variance_of(std::uint32_t site);

  static const SiteVariances kNoVariances;
  std::uint32_t max_sites_;
  bool by_thread_;
  struct KeyHash {
    std::size_t operator()(const SiteKey& key) const noexcept {
      return ((std::uint64_t{key.stack} << 32 | key.tid) * 8 + key.allocator) * 0x9e3779b97f4a7c15ull >> 7;
    }
  };
  std::unordered_map<SiteKey, std::uint32_t, KeyHash> ids_;
  std::vector<SiteKey> keys_;
  std::vector<Row, HugePages<Row>> rows_;
  std::vector<Cells, HugePages<Cells>> cells_;  // two per site
  std::vector<Sum, HugePages<Sum>> pool_;
  std::array<std::vector<std::uint32_t>, 8> free_runs_;  // by logarithm of their length
  std::vector<SiteVariances> variances_;                 // empty as long as nothing was sampled
  std::vector<std::uint32_t> changed_;
  Sum live_;
  Peak peak_, slice_peak_;
  std::uint64_t epoch_ = 1;
  std::uint64_t merged_ = 0;
};

}  // namespace fathom::record::heap
