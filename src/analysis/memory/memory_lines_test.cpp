#include "analysis/memory/memory_lines.h"

#include <gtest/gtest.h>

#include "analysis/memory/hand_made_memory.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using model::MemoryKind;

std::uint64_t sum_of(const MemoryLines& lines) {
  std::uint64_t sum = 0;
  for (const MemoryLine& line : lines.lines) sum += line.bytes;
  return sum;
}

class Lines {
 public:
  explicit Lines(const model::Profile& profile, std::uint64_t rss)
      : lines_(make_memory_lines(profile.memory_ranges, profile, rss)) {}
  std::uint64_t kib(std::string_view kind, std::string_view name) const {
    for (const MemoryLine& line : lines_.lines)
      if (line.kind == kind && line.name == name) return line.bytes >> 10;
    return 0;
  }
  MemoryLines lines_;
};

TEST(MemoryLines, EveryKindHasItsName) {
  HandMadeMemory hand(small_heap());
  const model::HeapAllocatorId glibc{1}, jemalloc{2};
  hand.range(1, MemoryKind::kAllocator, "[heap]", 1400, glibc);
  hand.profile.memory_ranges.back().live_blocks = 10;
  hand.profile.memory_ranges.back().live_resident_bytes = 1000 << 10;
  hand.range(1, MemoryKind::kAllocator, "dirty", 600, jemalloc);
  hand.range(1, MemoryKind::kAllocator, "glibc arena", 50);
  hand.range(1, MemoryKind::kBreak, "[heap]", 20);
  hand.range(1, MemoryKind::kThreadStack, "worker", 80);
  hand.range(1, MemoryKind::kThreadStack, "", 8);
  hand.range(1, MemoryKind::kFile, "/usr/bin/server (code)", 900);
  hand.range(1, MemoryKind::kFile, "/var/lib/mdbx.dat", 2400);
  hand.range(1, MemoryKind::kFileData, "/usr/bin/server", 60);
  hand.range(1, MemoryKind::kShared, "/memfd:rings", 200);
  hand.range(1, MemoryKind::kShared, "/dev/zero", 100);
  hand.range(1, MemoryKind::kUnknown, "[anon:pool]", 128);
  hand.range(1, MemoryKind::kUnknown, "", 12);
  const Lines lines(hand.profile, 5958 << 10);
  const std::string libc(hand.profile.strings[hand.profile.heap.allocators[1].label]);
  const std::string other(hand.profile.strings[hand.profile.heap.allocators[2].label]);
  EXPECT_EQ(lines.kib("heap-live", "heap, " + libc + ": live blocks"), 1000u);
  EXPECT_EQ(lines.kib("heap-free", "heap, " + libc + ": beyond live blocks"), 400u);
  EXPECT_EQ(lines.kib("heap", "heap, " + other + ": dirty"), 600u);
  EXPECT_EQ(lines.kib("heap", "heap, glibc arena"), 50u);
  EXPECT_EQ(lines.kib("heap", "heap of brk"), 20u);
  EXPECT_EQ(lines.kib("thread-stacks", "thread stacks"), 88u);
  EXPECT_EQ(lines.kib("code", "code of /usr/bin/server"), 900u);
  EXPECT_EQ(lines.kib("file", "/var/lib/mdbx.dat"), 2400u);
  EXPECT_EQ(lines.kib("copied-pages", "copied private pages: /usr/bin/server"), 60u);
  EXPECT_EQ(lines.kib("memfd", "memfd rings"), 200u);
  EXPECT_EQ(lines.kib("shared-anonymous", "shared, without a file"), 100u);
  EXPECT_EQ(lines.kib("anonymous", "anonymous: [anon:pool]"), 128u);
  EXPECT_EQ(lines.lines_.unexplained_bytes, 0);
  EXPECT_EQ(lines.lines_.lines.front().name, "/var/lib/mdbx.dat") << "most first";
  EXPECT_TRUE(lines.lines_.lines.front().reclaimable);
}

TEST(MemoryLines, WhatMovedIsUnexplainedInEitherDirection) {
  HandMadeMemory hand(small_heap());
  hand.range(1, MemoryKind::kBreak, "[heap]", 100);
  EXPECT_EQ(Lines(hand.profile, 110 << 10).lines_.unexplained_bytes, 10 << 10);
  EXPECT_EQ(Lines(hand.profile, 90 << 10).lines_.unexplained_bytes, -(10 << 10));
}

TEST(MemoryLines, TheLinesAndTheUnexplainedAddUpToRssForAnyRows) {
  std::size_t seen = 0;
  model::for_each_profile(300, [&](const model::Profile& profile) {
    if (profile.memory_ranges.empty()) return;
    ++seen;
    const std::uint64_t rss = 123'456'789;
    const MemoryLines lines = make_memory_lines(profile.memory_ranges, profile, rss);
    EXPECT_EQ(static_cast<std::int64_t>(sum_of(lines)) + lines.unexplained_bytes,
              static_cast<std::int64_t>(rss));
    for (std::size_t i = 1; i < lines.lines.size(); ++i)
      EXPECT_GE(lines.lines[i - 1].bytes, lines.lines[i].bytes);
  });
  EXPECT_GT(seen, 100u);
}

}  // namespace
}  // namespace fathom::analysis
