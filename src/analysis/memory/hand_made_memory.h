// For tests: the memory of the server of hand_made_heap.h, at its start and at its end.
#pragma once

#include "analysis/heap/hand_made_heap.h"

namespace fathom::analysis {

class HandMadeMemory : public HandMadeHeap {
 public:
  explicit HandMadeMemory(HandMadeHeap hand) : HandMadeHeap(std::move(hand)) {}
  // Of the first process, so long after the start.
  model::MemoryRange& range(double at_s, model::MemoryKind kind, std::string_view name, std::uint64_t kib,
                            model::HeapAllocatorId allocator = {}) {
    model::MemoryRange row;
    row.time_ns = profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9);
    row.kind = kind;
    row.name = profile.strings.intern(name);  // the builder is of the profile that was moved here
    row.allocator = allocator;
    row.ranges = 1;
    row.rss_bytes = kib << 10;
    row.virtual_bytes = 2 * row.rss_bytes;
    const bool shared = kind == model::MemoryKind::kFile || kind == model::MemoryKind::kShared ||
                        kind == model::MemoryKind::kKernel;
    row.anonymous_bytes = shared ? 0 : row.rss_bytes;
    profile.memory_ranges.push_back(row);
    return profile.memory_ranges.back();
  }
};

inline HandMadeMemory memory_of_small_heap(model::HeapMode mode = model::HeapMode::kExact) {
  using model::MemoryKind;
  HandMadeMemory hand(small_heap(mode));
  const model::HeapAllocatorId glibc{1}, jemalloc{2};
  hand.range(0.01, MemoryKind::kBreak, "[heap]", 200);
  hand.range(0.01, MemoryKind::kUnknown, "", 100);
  hand.range(0.01, MemoryKind::kMainStack, "", 40);

  model::MemoryRange& heap = hand.range(2.9, MemoryKind::kAllocator, "[heap]", 1400, glibc);
  heap.live_blocks = 1030;
  heap.live_bytes = 1'300'000;
  heap.live_resident_bytes = 950 << 10;
  if (mode == model::HeapMode::kSampled) heap.live_resident_variance = 1e10;
  model::MemoryRange& chunks = hand.range(2.9, MemoryKind::kAllocator, "", 600, jemalloc);
  chunks.live_blocks = 10;
  chunks.live_bytes = chunks.live_resident_bytes = 50 << 10;
  chunks.huge_bytes = 512 << 10;
  hand.range(2.9, MemoryKind::kMapped, "", 300);
  hand.range(2.9, MemoryKind::kThreadStack, "worker", 80).ranges = 8;
  hand.range(2.9, MemoryKind::kMainStack, "", 40);
  hand.range(2.9, MemoryKind::kFileData, "/usr/bin/server", 60);
  hand.range(2.9, MemoryKind::kTracer, "", 64).anonymous_bytes = 16 << 10;
  hand.range(2.9, MemoryKind::kUnknown, "[anon:pool]", 128).swap_bytes = 64 << 10;
  hand.range(2.9, MemoryKind::kFile, "/usr/bin/server", 900);
  hand.range(2.9, MemoryKind::kFile, "/var/lib/blocks.dat", 2400);
  hand.range(2.9, MemoryKind::kShared, "/dev/zero", 200);
  hand.range(2.9, MemoryKind::kKernel, "", 4);
  const auto series = [&](std::string_view name, double value) {
    hand.profile.series.push_back(
        {hand.profile.strings.intern(name),
         hand.profile.strings.intern("bytes"),
         10,
         {{hand.profile.meta.start_ns, 0}, {hand.profile.meta.start_ns + 2'800'000'000, value}}});
  };
  series("memory.page_tables", 120 << 10);
  series("cgroup.memory", 64 << 20);
  series("memory.private_clean", 300 << 10);
  series("memory.private_dirty", 2624 << 10);
  series("memory.shared_clean", 3052 << 10);
  series("memory.shared_dirty", 200 << 10);
  series("memory.pss", 3424 << 10);
  return hand;
}

}  // namespace fathom::analysis
