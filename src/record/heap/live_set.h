// The blocks that are live: address -> who allocated it, when, how large. 24 bytes each in open addressing,
// so 10^6 blocks take about 35 MB and one or two cache misses per event; a std::unordered_map takes twice
// that, and allocates.
//
// In 16 shards that grow one at a time, small ones to twice their size, large ones by a quarter and in whole
// huge pages: growing all at once would stop the reading of rings for a tenth of a second and need twice the
// memory meanwhile. Addresses come from the target, which may choose them badly on purpose: the hash is keyed
// at random.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/heap/huge_pages.h"

namespace fathom::sources::heap {

struct LiveBlock {
  std::uint64_t ticks = 0;  // when it was allocated; 56 bits
  std::uint64_t size = 0;
  std::uint32_t site = 0;  // below 2^22
  std::uint8_t mean = 0;   // which of the means it was sampled with; 0: exact
  bool operator==(const LiveBlock&) const = default;
};

class LiveSet {
 public:
  static constexpr std::uint32_t kMaxSite = (1u << 22) - 1;

  explicit LiveSet(std::uint64_t seed);

  enum class Taken : std::uint8_t {
    kTaken,
    kUnknown,  // no block at this address
    kNewer,    // the block at this address was allocated later: it is another one
  };
  // The block that was freed at `ticks`, out of the set.
  Taken take(std::uint64_t block, std::uint64_t ticks, LiveBlock& out);
  // True if a block was live at this address, which `old` then has: its free was not seen. `block` is not 0.
  bool put(std::uint64_t block, const LiveBlock& live, LiveBlock& old);

  // Brings the place of a block into the cache: some 50 events before it is needed. Inline by force: g++ 12
  // takes a function that only prefetches for one without effect, and drops calls of it.
  [[gnu::always_inline]] void prefetch(std::uint64_t block) const {
    const std::uint64_t hash = hash_of(block);
    const Shard& shard = shards_[hash >> kShardShift];
    if (shard.capacity != 0) __builtin_prefetch(&shard.entries[home(hash, shard.capacity)]);
  }

  // Where the block that is live at this address was allocated and when; kNoSite if none is. For looking
  // ahead: its own place is in the cache by now, and that of its site should be.
  static constexpr std::uint32_t kNoSite = UINT32_MAX;
  struct Glimpse {
    std::uint32_t site = kNoSite;
    std::uint64_t ticks = 0;
  };
  Glimpse glimpse(std::uint64_t block) const {
    const std::uint64_t hash = hash_of(block);
    const Shard& shard = shards_[hash >> kShardShift];
    if (shard.capacity == 0 || block == 0) return {};
    for (std::uint32_t at = home(hash, shard.capacity);; at = next(shard, at)) {
      const Entry& entry = shard.entries[at];
      if (entry.block == block)
        return {static_cast<std::uint32_t>(entry.size_site & kMaxSite), entry.ticks_mean >> 8};
      if (entry.block == 0) return {};
    }
  }

  std::uint64_t size() const { return size_; }
  // Places that a search for the block looks at.
  std::uint32_t steps_to(std::uint64_t block) const;
  std::uint64_t memory_bytes() const;

  // visit(block, LiveBlock) for those of one shard, in no order.
  static constexpr std::size_t kShards = 16;
  template <class Visit>
  void for_each_of(std::size_t shard, const Visit& visit) const {
    for (const Entry& entry : shards_[shard].entries)
      if (entry.block != 0) visit(entry.block, live(entry));
  }
  // The same for all.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t shard = 0; shard < kShards; ++shard) for_each_of(shard, visit);
  }

 private:
  struct Entry {
    std::uint64_t block = 0;  // address | allocator << 56; 0: free
    std::uint64_t ticks_mean = 0;
    std::uint64_t size_site = 0;
  };
  static_assert(sizeof(Entry) == 24);
  struct Shard {
    std::vector<Entry, HugePages<Entry>> entries;
    std::uint32_t capacity = 0;  // of entries
    std::uint32_t used = 0, limit = 0;
  };
  static constexpr unsigned kShardShift = 60;               // 16 of them
  static constexpr std::uint64_t kHuge = (1ull << 42) - 1;  // the size is in huge_

  // Uses secret random numbers, so that nothing outside can make searches long. Two products: after one,
  // equally spaced blocks stay equally spaced, and for one seed in a hundred the distances are so short that
  // searches take 7 steps, for one in a thousand 100 and more.
  std::uint64_t hash_of(std::uint64_t block) const {
    std::uint64_t hash = (block ^ key_) * multiplier_;
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15ull;
  }
  static std::uint32_t home(std::uint64_t hash, std::uint32_t capacity) {
    return static_cast<std::uint32_t>((hash << 4 >> 32) * capacity >> 32);
  }
  LiveBlock live(const Entry& entry) const;
  void write(Entry& entry, std::uint64_t block, const LiveBlock& live);
  void remove(Shard& shard, std::uint32_t at);
  static std::uint32_t next(const Shard& shard, std::uint32_t at) {
    return at + 1 == shard.capacity ? 0 : at + 1;
  }
  void grow(Shard& shard);

  std::array<Shard, kShards> shards_;
  std::unordered_map<std::uint64_t, std::uint64_t> huge_;  // sizes of 4 TiB and more, by block
  std::uint64_t key_, multiplier_;
  std::uint64_t size_ = 0;
};

}  // namespace fathom::sources::heap
