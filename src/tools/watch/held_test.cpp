#include "tools/watch/held.h"

#include <gtest/gtest.h>

#include "record/session/memory/held_memory.h"

namespace fathom::watch {
namespace {

using allocators::AllocatorState;
using allocators::AllocatorStates;
using allocators::Certainty;
using allocators::HeldKind;

constexpr std::uint64_t kPage = 4096, kStart = 0x7f0000000000;

// 100 pages, of which the first 60 are in memory; jemalloc has the first 80 of them.
class Process {
 public:
  Process() {
    AllocatorState state;
    state.name = "jemalloc";
    state.module = "/usr/bin/node";
    state.certainty = Certainty::kVerified;
    state.ranges = {{kStart, kStart + 10 * kPage, HeldKind::kMetadata},
                    {kStart + 10 * kPage, kStart + 40 * kPage, HeldKind::kLive},
                    {kStart + 40 * kPage, kStart + 80 * kPage, HeldKind::kDirty}};
    state.lines = {{HeldKind::kLive, 20 * kPage, 20 * kPage, true},
                   {HeldKind::kFreeInSlabs, 10 * kPage, 10 * kPage, true},
                   {HeldKind::kDirty, 40 * kPage, 20 * kPage, false}};
    state.free_in_live_pages = 10 * kPage;
    states.allocators.push_back(state);
  }

  analysis::MemoryLines lines() {
    sources::JudgedMapping judged;
    judged.mapping.entry.start = {kStart};
    judged.mapping.entry.end = {kStart + 100 * kPage};
    judged.mapping.entry.readable = judged.mapping.entry.writable = true;
    judged.mapping.rss = judged.mapping.anonymous = 60 * kPage;
    session::MemoryComposition composition({judged}, {}, {});
    sources::ResidentPages pages;
    pages.add_range(kStart, kStart + 100 * kPage);
    pages.add_run(kStart, kStart + 60 * kPage);
    composition.set_pages(std::move(pages));
    model::Profile names;
    model::Builder builder(names);
    add_held(states, huge, composition, names, builder);
    const auto rows = composition.rows(0, {}, {}, builder);
    auto made = analysis::make_memory_lines(rows, names, 60 * kPage);
    divide_live(states, made);
    return made;
  }

  AllocatorStates states;
  allocators::AddressRanges huge;  // what lies on huge pages
};

std::uint64_t pages_of(const analysis::MemoryLines& lines, std::string_view name) {
  for (const analysis::MemoryLine& line : lines.lines)
    if (line.name == name) return line.bytes / kPage;
  return 0;
}

TEST(Held, EachStateOfAnAllocatorIsALineAndTheyAddUp) {
  const auto lines = Process().lines();
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: live blocks"), 20u);
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: free among live blocks"), 10u);
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: free, not given back (dirty)"), 20u);
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: its own records"), 10u);
  EXPECT_EQ(lines.unexplained_bytes, 0);
  std::uint64_t sum = 0;
  for (const analysis::MemoryLine& line : lines.lines) sum += line.bytes;
  EXPECT_EQ(sum, 60 * kPage);
  for (std::size_t i = 1; i < lines.lines.size(); ++i)
    EXPECT_GE(lines.lines[i - 1].bytes, lines.lines[i].bytes) << "most first";
}

TEST(Held, FreePagesInAHugePageWithLiveOnesAreALineOfTheirOwn) {
  Process process;
  process.huge = allocators::AddressRanges({{kStart, kStart + 512 * kPage}});
  const auto lines = process.lines();
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: rounding of huge pages"), 20u);
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: free, not given back (dirty)"), 0u);
  EXPECT_EQ(pages_of(lines, "heap, jemalloc: live blocks"), 20u);
  EXPECT_EQ(lines.unexplained_bytes, 0);
}

// A recording has no row of an allocator whose calls are not traced.
TEST(Held, WithoutARowOfItsOwnAnAllocatorIsNamed) {
  Process process;
  sources::JudgedMapping judged;
  judged.mapping.entry.start = {kStart};
  judged.mapping.entry.end = {kStart + 100 * kPage};
  judged.mapping.entry.readable = judged.mapping.entry.writable = true;
  judged.mapping.rss = judged.mapping.anonymous = 100 * kPage;
  session::MemoryComposition composition({judged}, {}, {});
  sources::ResidentPages pages;
  pages.add_range(kStart, kStart + 100 * kPage);
  pages.add_run(kStart, kStart + 100 * kPage);
  composition.set_pages(std::move(pages));
  session::add_held_by_name(process.states, process.huge, composition);
  model::Profile names;
  model::Builder builder(names);
  std::uint64_t dirty = 0, unknown = 0;
  for (const model::MemoryRange& row : composition.rows(0, {}, {}, builder)) {
    if (names.strings[row.name] == "jemalloc: free, not given back (dirty)") dirty += row.rss_bytes;
    if (row.kind == model::MemoryKind::kUnknown) unknown += row.rss_bytes;
  }
  EXPECT_EQ(dirty, 40 * kPage);
  EXPECT_EQ(unknown, 20 * kPage);
}

TEST(Held, AllocatorThatIsNotKnownLeavesTheMemoryAsItWas) {
  Process process;
  process.states.allocators[0] = {};
  process.states.allocators[0].name = "mimalloc";
  process.states.allocators[0].reason = "its records are not read";
  const auto lines = process.lines();
  ASSERT_EQ(lines.lines.size(), 1u);
  EXPECT_EQ(lines.lines[0].kind, "anonymous");
  EXPECT_EQ(lines.lines[0].bytes, 60 * kPage);
}

TEST(Held, TwoOfTheSameNameSayWhoseTheyAre) {
  Process process;
  EXPECT_EQ(session::held_label(process.states, 0), "jemalloc");
  AllocatorState second;
  second.name = "jemalloc";
  second.module = "/usr/lib/librocksdb.so";
  process.states.allocators.push_back(second);
  EXPECT_EQ(session::held_label(process.states, 0), "jemalloc of node");
  EXPECT_EQ(session::held_label(process.states, 1), "jemalloc of librocksdb.so");
  EXPECT_EQ(pages_of(process.lines(), "heap, jemalloc of node: live blocks"), 20u);
}

}  // namespace
}  // namespace fathom::watch
