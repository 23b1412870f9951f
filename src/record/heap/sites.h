// What happened to the blocks of each site: a stack, an allocator and, if threads are distinguished, the
// thread that allocated. Numbers only; LiveSet maps blocks to sites.
//
// The composition of the peak is exact and costs nothing per event: each new peak gets the next number, and a
// site saves its live amount at the last peak when it first changes after it. A site that has not changed
// since still has that amount live. The alternative, copying all sites at each new peak, would cost a copy
// per allocation while the heap grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/heap/huge_pages.h"

namespace fathom::sources::heap {

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
  std::uint32_t tid = 0;    // 0: threads are not distinguished
  std::uint32_t allocator = 0;
  bool operator==(const SiteKey&) const = default;
};

// Of one slice of time.
struct SiteSlice {
  Sum allocated, freed, temporary, short_lived;
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
  // Sizes and lifetimes of 2^47 and more (128 TiB, 39 hours) share the last bucket.
  static constexpr unsigned kBuckets = 49;

  // Above half of `max_sites` threads are no longer distinguished, above all of it nor are stacks.
  Sites(std::uint32_t max_sites, bool by_thread);

  std::uint32_t site(const SiteKey& key);

  // Sums are taken by value and all of this is inline, by force: written to memory in halves and read back as
  // a whole they would cost more than all else.
  [[gnu::always_inline]] void allocate(std::uint32_t site, const Weight& weight, std::uint64_t size,
                                       std::uint64_t ticks) {
    const Sum sum = weight.sum;
    Row& row = touch(site);
    row.live.add(sum);
    row.allocated.add(sum);
    if (weight.variance.blocks != 0) add_variance(site, weight.variance);
    count(site, Histogram::kSize, size, sum.blocks);
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
  [[gnu::always_inline]] void free(std::uint32_t site, const Weight& weight, const Freed& freed) {
    const Sum sum = weight.sum;
    Row& row = touch(site);
    row.live.subtract(sum);
    book_free(site, row, sum, freed);
    if (weight.variance.blocks != 0) subtract_variance(site, weight.variance, freed.in_slice);
    live_.subtract(sum);
  }
  // Both at once, of one block that is exact: what was live before is live after it.
  [[gnu::always_inline]] void allocate_and_free(std::uint32_t site, std::uint64_t size, std::uint64_t ticks,
                                                const Freed& freed) {
    const Sum sum{1, static_cast<double>(size)};
    if (live_.bytes + sum.bytes > slice_peak_.sum.bytes) [[unlikely]] {
      allocate(site, {sum, {}}, size, ticks);
      return free(site, {sum, {}}, freed);
    }
    Row& row = touch(site);
    row.allocated.add(sum);
    count(site, Histogram::kSize, size, 1);
    book_free(site, row, sum, freed);
  }
  // Brings what a size or a lifetime of a site changes into the cache, some 50 events before it is needed.
  [[gnu::always_inline]] void prefetch(std::uint32_t site, Histogram kind, std::uint64_t value) const {
    __builtin_prefetch(&rows_[site], 1);
    if (kind == Histogram::kLifetime) __builtin_prefetch(&rows_[site].at_peak, 1);
    __builtin_prefetch(&counts_[place(site, kind, value)], 1);
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
    return {row.allocated, row.freed, row.temporary, row.short_lived};
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
  Sum allocated(std::uint32_t site) const;
  Sum freed(std::uint32_t site) const;
  // visit(bucket, Sum) for each bucket that is not empty, in their order. The bytes are an estimate that adds
  // up to what the site really has: of sizes by the middle of each bucket, so exact if all blocks are of one;
  // of lifetimes by the mean size.
  template <class Visit>
  void for_each_bucket(std::uint32_t site, Histogram kind, const Visit& visit) const {
    for (const auto& [bucket, sum] : histogram(site, kind)) visit(bucket, sum);
  }

 private:
  // The first 64 bytes are what every event changes.
  struct alignas(64) Row {
    Sum live, allocated, freed;  // the latter two of the slice, as all below but at_peak
    std::uint64_t epoch = 0;     // of the peak that at_peak is of
    bool changed = false;
    Sum at_peak, temporary, short_lived;
    std::uint64_t longest_ticks = 0;  // of all time
  };
  static_assert(sizeof(Row) == 128);
  std::size_t place(std::uint32_t site, Histogram kind, std::uint64_t value) const {
    return std::size_t{site} * 2 * kBuckets + static_cast<std::size_t>(kind) * kBuckets +
           std::min(bucket_of(value), kBuckets - 1);
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
  // What a free changes other than the live amount.
  [[gnu::always_inline]] void book_free(std::uint32_t site, Row& row, const Sum& sum, const Freed& freed) {
    constexpr std::uint64_t kShortLivedNs = 1'000'000;
    row.freed.add(sum);
    if (freed.temporary) row.temporary.add(sum);
    if (freed.lifetime_ns < kShortLivedNs) row.short_lived.add(sum);
    row.longest_ticks = std::max(row.longest_ticks, freed.lifetime_ticks);
    count(site, Histogram::kLifetime, freed.lifetime_ns, sum.blocks);
  }
  void keep_peak(std::uint32_t site, Row& row);
  // Numbers of blocks only, in 4 bytes each: with their bytes, histograms took most of the memory that an
  // event waits for.
  void count(std::uint32_t site, Histogram kind, std::uint64_t value, double blocks) {
    const std::size_t at = place(site, kind, value);
    if (blocks == 1) {
      if (++counts_[at] == 0) ++carries_[at];
    } else {
      estimate(at, blocks);
    }
  }
  void estimate(std::size_t at, double blocks);
  double blocks_in(std::uint32_t site, Histogram kind, unsigned bucket) const;
  std::vector<std::pair<unsigned, Sum>> histogram(std::uint32_t site, Histogram kind) const;
  void add_variance(std::uint32_t site, const Sum& variance);
  void subtract_variance(std::uint32_t site, const Sum& variance, bool in_slice);
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
  std::vector<std::uint32_t, HugePages<std::uint32_t>> counts_;  // 2 * kBuckets per site
  std::unordered_map<std::size_t, std::uint32_t> carries_;       // how often a count started over
  std::vector<float> estimates_;                                 // as counts_, of samples; empty without them
  struct Totals {
    Sum allocated, freed;  // of the slices that are over
  };
  std::vector<Totals> totals_;
  std::vector<SiteVariances> variances_;  // empty as long as nothing was sampled
  std::vector<std::uint32_t> changed_;
  Sum live_;
  Peak peak_, slice_peak_;
  std::uint64_t epoch_ = 1;
  std::uint64_t merged_ = 0;
};

}  // namespace fathom::sources::heap
