#include "attach/allocators/state/glibc_lists.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

namespace fathom::allocators::glibc {
namespace {

constexpr int kTries = 3;
constexpr std::uint64_t kLeastChunk = 32;
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 23;
constexpr unsigned kSmallBins = 62;  // bins 1 to 62 have one size each: 32 to 1,008 bytes

const AddressRange* heap_of(const Arena& arena, std::uint64_t address) {
  const auto after =
      std::upper_bound(arena.heaps.begin(), arena.heaps.end(), address,
                       [](std::uint64_t at, const AddressRange& heap) { return at < heap.start; });
  if (after == arena.heaps.begin() || std::prev(after)->end <= address) return nullptr;
  return &*std::prev(after);
}

std::optional<Chunk> chunk_at(PresentMemory& memory, const Arena& arena, std::uint64_t address) {
  const AddressRange* heap = address % 16 == 0 ? heap_of(arena, address) : nullptr;
  if (heap == nullptr || heap->end - address < kLeastChunk) return std::nullopt;
  const auto chunk = memory.value<Chunk>(address);
  if (!chunk || chunk->size() < kLeastChunk || chunk->size() % 16 != 0 || chunk->size() > heap->end - address)
    return std::nullopt;
  return chunk;
}

// Since 2.32 a single link is obfuscated: xor'ed with the page number of the place where it is stored.
std::uint64_t shown(std::uint64_t link, std::uint64_t place, bool hidden) {
  return hidden ? link ^ place >> 12 : link;
}

// Appends the chunks of the bin; false: the list broke off.
bool follow_bin(PresentMemory& memory, const Arena& arena, unsigned bin, std::vector<FreeChunk>& out,
                std::uint64_t most) {
  const std::uint64_t head = bin_chunk(arena.address, bin);
  const auto first = memory.value<std::uint64_t>(head + 16);
  if (!first) return false;
  std::uint64_t sum = 0, previous = head, at = *first;
  while (at != head) {
    const auto chunk = chunk_at(memory, arena, at);
    if (!chunk || chunk->backward != previous || out.size() >= most) return false;
    if (bin >= 1 && bin <= kSmallBins && chunk->size() != std::uint64_t{16} * (bin + 1)) return false;
    sum += chunk->size();
    if (sum > arena.record.system_bytes) return false;  // circular
    out.push_back({at, chunk->size()});
    previous = at;
    at = chunk->forward;
  }
  return true;
}

struct Sum {
  std::uint64_t chunks = 0, bytes = 0;
};

std::optional<Sum> follow_fast_bin(PresentMemory& memory, const Arena& arena, unsigned bin, bool hidden) {
  const auto first = memory.value<std::uint64_t>(arena.address + offsetof(ArenaRecord, fast_bins) + 8 * bin);
  if (!first) return std::nullopt;
  Sum sum;
  for (std::uint64_t at = *first; at != 0;) {
    const auto chunk = chunk_at(memory, arena, at);
    if (!chunk || chunk->size() != kLeastChunk + std::uint64_t{16} * bin) return std::nullopt;
    sum.chunks += 1;
    sum.bytes += chunk->size();
    if (sum.bytes > arena.record.system_bytes) return std::nullopt;
    at = shown(chunk->forward, at + 16, hidden);
  }
  return sum;
}

// tcache_perthread_struct of 2.30 to 2.41, in its own chunk.
struct CacheRecord {
  std::uint16_t counts[kTcacheBins];
  std::uint64_t entries[kTcacheBins];
};
constexpr std::uint64_t kCacheChunk = 0x290;
static_assert(sizeof(CacheRecord) + 16 == kCacheChunk);

const Arena* arena_of(const std::vector<Arena>& arenas, std::uint64_t address) {
  for (const Arena& arena : arenas)
    if (heap_of(arena, address) != nullptr) return &arena;
  return nullptr;
}

// The content of the cache at chunk `address`; nullopt: it is not a cache.
std::optional<Sum> read_cache(PresentMemory& memory, const std::vector<Arena>& arenas,
                              std::uint64_t address) {
  const Arena* own = arena_of(arenas, address);
  if (own == nullptr) return std::nullopt;
  const auto header = chunk_at(memory, *own, address);
  if (!header || header->size() != kCacheChunk) return std::nullopt;
  const auto cache = memory.value<CacheRecord>(address + 16);
  if (!cache) return std::nullopt;
  for (const bool hidden : {true, false}) {
    Sum sum;
    bool agrees = true;
    for (unsigned bin = 0; bin < kTcacheBins && agrees; ++bin) {
      std::uint64_t at = cache->entries[bin];
      agrees = (cache->counts[bin] == 0) == (at == 0);
      for (unsigned left = cache->counts[bin]; left > 0 && agrees; --left) {
        const Arena* arena = at >= 16 ? arena_of(arenas, at - 16) : nullptr;
        const auto chunk = arena == nullptr ? std::nullopt : chunk_at(memory, *arena, at - 16);
        agrees = chunk && chunk->size() == kLeastChunk + std::uint64_t{16} * bin;
        if (!agrees) break;
        sum.chunks += 1;
        sum.bytes += chunk->size();
        at = shown(chunk->forward, at, hidden);
        agrees = (left == 1) == (at == 0);
      }
    }
    if (agrees) return sum;
  }
  return std::nullopt;
}

// Places where threads keep the address of their cache: next to their control block, which begins with a
// pointer to itself and is at the upper end of the stack.
std::vector<std::uint64_t> cache_pointers(PresentMemory& memory, const ProcessMap& map) {
  constexpr std::uint64_t kMostPerStack = 256 * 1024, kStaticBytes = 4096;
  constexpr std::size_t kMostStacks = 16384;
  std::vector<std::uint64_t> pointers;
  std::vector<std::byte> bytes;
  std::size_t stacks = 0;
  for (const AddressRange& stack : map.guarded) {
    if (++stacks > kMostStacks) break;
    const auto parts = memory.present().within(stack.start, stack.end);
    if (parts.empty()) continue;
    const AddressRange& part = parts.back();
    const std::uint64_t start = std::max(part.start, part.end - std::min(part.end, kMostPerStack));
    bytes.resize(part.end - start);
    if (!memory.read(start, bytes)) continue;
    const auto word = [&](std::uint64_t address) {
      std::uint64_t value;
      std::memcpy(&value, bytes.data() + (address - start), sizeof(value));
      return value;
    };
    for (std::uint64_t at = (start + 63) / 64 * 64; at + 24 <= part.end; at += 64) {
      if (word(at) != at || word(at + 16) != at) continue;
      for (std::uint64_t slot = std::max(start, at - kStaticBytes); slot < at; slot += 8)
        if (const std::uint64_t value = word(slot); value != 0 && value % 16 == 0) pointers.push_back(value);
    }
  }
  return pointers;
}

}  // namespace

Lists read_lists(PresentMemory& memory, const Arena& arena) {
  Lists lists;
  for (unsigned bin = 0; bin < kBins; ++bin) {
    std::vector<FreeChunk> found;
    bool whole = false;
    for (int tries = 0; tries < kTries && !whole; ++tries) {
      if (tries > 0) memory.forget();
      found.clear();
      whole = follow_bin(memory, arena, bin, found, kMostChunks - std::min(kMostChunks, lists.chunks));
    }
    lists.broken += whole ? 0 : 1;
    for (const FreeChunk& each : found) lists.bin_bytes += each.size;
    lists.chunks += found.size();
    lists.bins.insert(lists.bins.end(), found.begin(), found.end());
    if (lists.chunks >= kMostChunks || memory.used_up()) {
      lists.cut = true;
      return lists;
    }
  }
  for (unsigned bin = 0; bin < kFastBins; ++bin) {
    std::optional<Sum> sum;
    for (int tries = 0; tries < kTries && !sum; ++tries) {
      if (tries > 0) memory.forget();
      sum = follow_fast_bin(memory, arena, bin, true);
      if (!sum) sum = follow_fast_bin(memory, arena, bin, false);
    }
    if (!sum) {
      ++lists.broken;
      continue;
    }
    lists.fast_bytes += sum->bytes;
    lists.chunks += sum->chunks;
  }
  return lists;
}

ThreadCaches read_thread_caches(PresentMemory& memory, const ProcessMap& map,
                                const std::vector<Arena>& arenas) {
  ThreadCaches all;
  std::set<std::uint64_t> seen;
  const auto take = [&](std::uint64_t chunk) {
    if (!seen.insert(chunk).second) return;
    const auto sum = read_cache(memory, arenas, chunk);
    if (!sum) return;
    all.caches += 1;
    all.chunks += sum->chunks;
    all.bytes += sum->bytes;
  };
  for (const Arena& arena : arenas)
    if (arena.first_chunk != 0) take(arena.first_chunk);
  for (const std::uint64_t pointer : cache_pointers(memory, map)) take(pointer - 16);
  return all;
}

}  // namespace fathom::allocators::glibc
