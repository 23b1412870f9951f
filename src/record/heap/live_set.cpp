#include "record/heap/live_set.h"

#include <algorithm>

namespace fathom::sources::heap {
namespace {

// Where memory is no matter, half of it stays empty: searches end at once, and what was removed leaves no
// others behind to be moved. 6 MB in all shards.
constexpr std::uint32_t kSmallest = 256, kRoomy = 16'384;

}  // namespace

LiveSet::LiveSet(std::uint64_t seed)
    : key_(seed * 0xd1342543de82ef95ull), multiplier_(((seed ^ (seed >> 29)) * 0xbf58476d1ce4e5b9ull) | 1) {}

LiveBlock LiveSet::live(const Entry& entry) const {
  LiveBlock live;
  live.ticks = entry.ticks_mean >> 8;
  live.mean = static_cast<std::uint8_t>(entry.ticks_mean);
  live.size = entry.size_site >> 22;
  live.site = static_cast<std::uint32_t>(entry.size_site & kMaxSite);
  if (live.size == kHuge)
    if (const auto found = huge_.find(entry.block); found != huge_.end()) live.size = found->second;
  return live;
}

// Word by word: an entry that is put together elsewhere and then copied would be read in other pieces than it
// was written in, which took a tenth of the time of an event.
void LiveSet::write(Entry& entry, std::uint64_t block, const LiveBlock& live) {
  std::uint64_t size = live.size;
  if (size >= kHuge) [[unlikely]] {
    huge_[block] = size;
    size = kHuge;
  }
  entry.block = block;
  entry.ticks_mean = live.ticks << 8 | live.mean;
  entry.size_site = size << 22 | live.site;
}

LiveSet::Taken LiveSet::take(std::uint64_t block, std::uint64_t ticks, LiveBlock& out) {
  const std::uint64_t hash = hash_of(block);
  Shard& shard = shards_[hash >> kShardShift];
  if (shard.capacity == 0 || block == 0) return Taken::kUnknown;
  for (std::uint32_t at = home(hash, shard.capacity);; at = next(shard, at)) {
    const Entry& entry = shard.entries[at];
    if (entry.block == 0) return Taken::kUnknown;
    if (entry.block != block) continue;
    if (ticks < entry.ticks_mean >> 8) return Taken::kNewer;
    out.ticks = entry.ticks_mean >> 8;
    out.size = entry.size_site >> 22;
    out.site = static_cast<std::uint32_t>(entry.size_site & kMaxSite);
    out.mean = static_cast<std::uint8_t>(entry.ticks_mean);
    if (out.size == kHuge) [[unlikely]] {
      out.size = live(entry).size;
      huge_.erase(block);
    }
    remove(shard, at);
    --shard.used;
    --size_;
    return Taken::kTaken;
  }
}

bool LiveSet::put(std::uint64_t block, const LiveBlock& added, LiveBlock& old) {
  const std::uint64_t hash = hash_of(block);
  Shard& shard = shards_[hash >> kShardShift];
  if (shard.used >= shard.limit) grow(shard);
  std::uint32_t at = home(hash, shard.capacity);
  for (; shard.entries[at].block != 0; at = next(shard, at)) {
    if (shard.entries[at].block != block) continue;
    old = live(shard.entries[at]);
    if (old.size >= kHuge) huge_.erase(block);
    write(shard.entries[at], block, added);
    return true;
  }
  write(shard.entries[at], block, added);
  ++shard.used;
  ++size_;
  return false;
}

std::uint32_t LiveSet::steps_to(std::uint64_t block) const {
  const std::uint64_t hash = hash_of(block);
  const Shard& shard = shards_[hash >> kShardShift];
  if (shard.capacity == 0) return 0;
  std::uint32_t steps = 1, at = home(hash, shard.capacity);
  for (; shard.entries[at].block != block && shard.entries[at].block != 0; at = next(shard, at)) ++steps;
  return steps;
}

// What stands behind it and would not be found across the hole moves into it.
void LiveSet::remove(Shard& shard, std::uint32_t hole) {
  for (std::uint32_t at = next(shard, hole);; at = next(shard, at)) {
    const Entry& entry = shard.entries[at];
    if (entry.block == 0) break;
    const std::uint32_t wanted = home(hash_of(entry.block), shard.capacity);
    const bool between = hole <= at ? hole < wanted && wanted <= at : hole < wanted || wanted <= at;
    if (between) continue;
    shard.entries[hole] = entry;
    hole = at;
  }
  shard.entries[hole].block = 0;
}

void LiveSet::grow(Shard& shard) {
  Shard larger;
  const bool roomy = shard.capacity < kRoomy;
  const std::size_t entries =
      roomy ? std::max(kSmallest, shard.capacity * 2) : std::size_t{shard.capacity} + shard.capacity / 4;
  std::size_t bytes = entries * sizeof(Entry);
  if (bytes >= kHugePage / 2) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  larger.capacity = static_cast<std::uint32_t>(bytes / sizeof(Entry));
  // Three quarters: a search that finds nothing looks at 8 entries then, which are 3 cache lines in a row.
  larger.limit = roomy ? larger.capacity / 2 : larger.capacity - larger.capacity / 4;
  larger.used = shard.used;
  larger.entries.resize(larger.capacity);
  for (const Entry& entry : shard.entries) {
    if (entry.block == 0) continue;
    std::uint32_t at = home(hash_of(entry.block), larger.capacity);
    while (larger.entries[at].block != 0) at = next(larger, at);
    larger.entries[at] = entry;
  }
  shard = std::move(larger);
}

std::uint64_t LiveSet::memory_bytes() const {
  std::uint64_t bytes = sizeof(*this) + huge_.size() * 48;
  for (const Shard& shard : shards_) bytes += shard.entries.capacity() * sizeof(Entry);
  return bytes;
}

}  // namespace fathom::sources::heap
