#include "formats/jemalloc/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/jemalloc/estimate.h"
#include "formats/jemalloc/file_name.h"

namespace fathom::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HeapDump read(std::string_view text) {
  Result<HeapDump> dump = read_heap_dump(text, "x.heap");
  EXPECT_TRUE(dump) << dump.error().message;
  return dump ? std::move(*dump) : HeapDump{};
}
std::string refusal(std::string_view text) {
  const Result<HeapDump> dump = read_heap_dump(text, "x.heap");
  return dump ? "read" : dump.error().message;
}

constexpr std::string_view kThreads =
    "heap_v2/524288\n"
    "  t*: 28106: 56637512 [0: 0]\n"
    "  t3: 352: 16777344 [0: 0] main\n"
    "  t99: 17754: 29341640 [0: 0]\n"
    "@ 0x5f86da8 0x5f5a1dc 0x29e4d4e\n"
    "  t*: 13: 6688 [20: 9000]\n"
    "  t3: 12: 6496 [15: 8000]\n"
    "  t99: 1: 192 [5: 1000]\n"
    "@ 0x10 0x20\n"
    "  t*: 1: 64 [0: 0]\n"
    "  t3: 1: 64 [0: 0]\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n";

TEST(HeapDump, OfJemallocHasStacksWithTheirThreads) {
  const HeapDump dump = read(kThreads);
  EXPECT_TRUE(dump.per_thread);
  EXPECT_EQ(dump.mean_bytes, 524288);
  ASSERT_EQ(dump.stacks.size(), 2u);
  EXPECT_THAT(dump.addresses, ElementsAre(0x5f86da8, 0x5f5a1dc, 0x29e4d4e, 0x10, 0x20));
  EXPECT_EQ(dump.stacks[0].addresses, 3u);
  EXPECT_EQ(dump.stacks[0].counts, (DumpCounts{{13, 6688}, {20, 9000}}));
  ASSERT_EQ(dump.stacks[0].threads, 2u);
  EXPECT_EQ(dump.threads[1].thread, 99u);
  EXPECT_EQ(dump.threads[1].counts, (DumpCounts{{1, 192}, {5, 1000}}));
  EXPECT_EQ(dump.stacks[1].first_address, 3u);
  EXPECT_THAT(dump.thread_names, ElementsAre(testing::Pair(3u, "main")));
  EXPECT_THAT(dump.maps, HasSubstr("dbus-daemon"));
  EXPECT_TRUE(dump.counts_allocated);
  EXPECT_FALSE(dump.cut);
}

TEST(HeapDump, TheHeadIsNoStack) {
  const HeapDump dump = read("heap_v2/1024\n  t*: 5: 100 [0: 0]\n  t0: 5: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n");
  EXPECT_TRUE(dump.stacks.empty());
  EXPECT_FALSE(dump.counts_allocated);
}

TEST(HeapDump, ThreadsMayBeOffAndLinesOfNewerVersionsAreSkipped) {
  const HeapDump dump = read(
      "heap_v2/1024\n  t*: 5: 100 [0: 0]\n@ 0x1\n  f: 12\n  frag_util: 0.5\n  t*: 5: 100 [0: "
      "0]\n\nMAPPED_LIBRARIES:\n");
  ASSERT_EQ(dump.stacks.size(), 1u);
  EXPECT_EQ(dump.stacks[0].threads, 0u);
  EXPECT_EQ(dump.stacks[0].counts.live, (DumpPair{5, 100}));
}

TEST(HeapDump, AStackMayHaveNoAddress) {
  EXPECT_EQ(read("heap_v2/1024\n@\n  t*: 5: 100 [0: 0]\nMAPPED_LIBRARIES:\n").stacks.size(), 1u);
}

TEST(HeapDump, OlderTextIsExactUnlessItSaysOtherwise) {
  const HeapDump exact = read(
      "heap profile:      3:    300 [    10:   1000] @ heapprofile\n"
      "     2:      200 [     8:      800] @ 0x0040182d 0x00401900\n"
      "     1:      100 [     2:      200] @ 0x00401000\n"
      "\nMAPPED_LIBRARIES:\n00400000-00452000 r-xp 00000000 08:02 173521 /x\n");
  EXPECT_EQ(exact.mean_bytes, 0);
  EXPECT_FALSE(exact.per_thread);
  ASSERT_EQ(exact.stacks.size(), 2u);
  EXPECT_EQ(exact.stacks[0].counts, (DumpCounts{{2, 200}, {8, 800}}));
  EXPECT_THAT(exact.addresses, ElementsAre(0x40182d, 0x401900, 0x401000));
  EXPECT_EQ(read("heap profile: 1: 2 [3: 4] @ heap_v2/524288\n1: 2 [3: 4] @ 0x1\n").mean_bytes, 524288);
  EXPECT_EQ(read("heap profile: 1: 2 [3: 4] @ heapprofile/1\n1: 2 [3: 4] @ 0x1\n").mean_bytes, 0);
}

TEST(HeapDump, OlderTextEndsWithWhatWasMapped) {
  for (const char* heading : {"MAPPED_LIBRARIES:", "--- Memory map:", "--- Memory map: ---"}) {
    const HeapDump dump =
        read(std::string("heap profile: 1: 2 [3: 4] @ heapz_v2/524288\n1: 2 [3: 4] @ 0x401000\n") + heading +
             "\n00400000-00452000 r-xp 00000000 08:02 173521 /x\n");
    EXPECT_EQ(dump.stacks.size(), 1u) << heading;
    EXPECT_THAT(dump.maps, HasSubstr("/x")) << heading;
  }
}

TEST(HeapDump, GoWritesTwiceItsRateAndNamesBehindEachStack) {
  const HeapDump dump = read(
      "heap profile: 1: 3072 [1: 3072] @ heap/8192\n"
      "1: 3072 [1: 3072] @ 0x47c32c 0x46f5b1 0x46f5a5 0x484081\n"
      "#\t0x46f5b0\tmain.keep+0x30\t/x/main.go:10\n"
      "#\t0x46f5a4\tmain.inlined+0x30\t\t/x/main.go:12\n"
      "#\t0x46f5a4\tmain.(*T[...]).main+0x1\t\t/x/main.go:15\n"
      "\n"
      "1: 3072 [1: 3072] @ 0x46f5b1\n"
      "#\t0x46f5b0\tmain.keep+0x30\t/x/main.go:10\n"
      "#\tno address\n"
      "# runtime.MemStats\n"
      "# Alloc = 4096\n");
  EXPECT_EQ(dump.mean_bytes, 4096);
  ASSERT_EQ(dump.stacks.size(), 2u);
  EXPECT_EQ(dump.stacks[0].addresses, 2u) << "without those of the runtime, which have no names";
  EXPECT_EQ(dump.addresses[dump.stacks[0].first_address], 0x46f5b1u);
  EXPECT_EQ(dump.stacks[1].addresses, 1u);
  EXPECT_EQ(dump.names.size(), 2u);
  EXPECT_THAT(dump.names.at(0x46f5b0), ElementsAre(DumpPlace{"main.keep", "/x/main.go", 10}));
  EXPECT_THAT(dump.names.at(0x46f5a4), ElementsAre(DumpPlace{"main.inlined", "/x/main.go", 12},
                                                   DumpPlace{"main.(*T[...]).main", "/x/main.go", 15}));
}

TEST(HeapDump, MayHaveTheNamesOfItsAddressesInFrontOfIt) {
  const HeapDump dump = read(
      "--- symbol\nbinary=/usr/bin/server\n0x00401135 outer--inner\n0x0000000000401200 main\n---\n"
      "--- heap\nheap_v2/1024\n@ 0x401136 0x401201\n  t*: 1: 10 [0: 0]\n\nMAPPED_LIBRARIES:\n");
  EXPECT_EQ(dump.program, "/usr/bin/server");
  EXPECT_THAT(dump.names.at(0x401135), ElementsAre(DumpPlace{"inner", "", 0}, DumpPlace{"outer", "", 0}));
  EXPECT_EQ(dump.names.size(), 2u);
  EXPECT_EQ(dump.stacks.size(), 1u);
}

TEST(HeapDump, OneThatIsCutShortKeepsItsWholeStacks) {
  for (std::size_t length = kThreads.find("@"); length < kThreads.size(); ++length) {
    const Result<HeapDump> dump = read_heap_dump(kThreads.substr(0, length), "x");
    ASSERT_TRUE(dump) << length << ": " << dump.error().message;
    EXPECT_LE(dump->stacks.size(), 2u);
    const std::size_t maps = kThreads.find("MAPPED_LIBRARIES:") + 17;
    const bool whole = length == maps || (length > maps && kThreads[length - 1] == '\n');
    EXPECT_EQ(dump->cut, !whole) << length;
  }
}

TEST(HeapDump, WhatItCannotBeIsRefusedWithTheLine) {
  EXPECT_THAT(refusal("heap_v2/\n"), HasSubstr("x.heap: line 1: no number of bytes between samples"));
  EXPECT_THAT(refusal("heap_v2/99999999999999999999\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("heap_v2/9223372036854775808\n"), HasSubstr("too large"));
  EXPECT_THAT(refusal("heap_v2/1024\n@ zebra\n"), HasSubstr("line 2: '@' and no addresses"));
  EXPECT_THAT(refusal("heap_v2/1024\n@ 0x12zebra\n"), HasSubstr("line 2"));
  EXPECT_THAT(refusal("heap_v2/1024\n@ 0x1\n  t*: 1: -5 [0: 0]\n"), HasSubstr("line 3: not 'objects: bytes"));
  EXPECT_THAT(refusal("heap_v2/1024\n@ 0x1\n  t*: 1: 5\n"), HasSubstr("line 3"));
  EXPECT_THAT(refusal("--- symbol\n0x1 f\n"), HasSubstr("no heap behind them"));
  EXPECT_THAT(refusal("heap profile: 1\n"), HasSubstr("line 1"));
}

TEST(HeapDump, ObjectsWithoutBytesCannotBeUnbiasedAndAreCounted) {
  const HeapDump dump = read("heap_v2/1024\n@ 0x1\n  t*: 5: 0 [0: 77]\nMAPPED_LIBRARIES:\n");
  EXPECT_EQ(dump.without_bytes, 1u);
  EXPECT_EQ(dump.stacks[0].counts, DumpCounts{});
}

TEST(HeapDump, AStackDeeperThanAnyRealOneLosesItsRootEnd) {
  std::string text = "heap_v2/1024\n@";
  for (int i = 1; i <= 3000; ++i) text += " 0x1";
  const HeapDump dump = read(text + "\n  t*: 5: 10 [0: 0]\nMAPPED_LIBRARIES:\n");
  EXPECT_EQ(dump.stacks[0].addresses, kMostFrames);
  EXPECT_EQ(dump.deep, 1u);
}

TEST(Estimate, UndoesTheSamplingAsTheReferenceDoes) {
  // Known factors of one sample in 512 KiB (heap-profile readers print them): 16 B x32768.5, 4 KiB x128.5, 512 KiB x1.582.
  constexpr double kMean = 524288;
  EXPECT_NEAR(estimate({1, 16}, kMean).sum.blocks, 32768.5, 0.1);
  EXPECT_NEAR(estimate({1, 4096}, kMean).sum.blocks, 128.5, 0.01);
  EXPECT_NEAR(estimate({2, 2 * 524288}, kMean).sum.bytes, 2 * 524288 * 1.58198, 10);
  EXPECT_NEAR(estimate({1, 1 << 30}, kMean).sum.blocks, 1, 1e-9);
}

TEST(Estimate, TheErrorOfSmallBlocksIsThatOfTheirNumber) {
  // Of n small blocks each stands for the mean: the relative error is 1 / sqrt(n).
  const model::HeapWeight weight = estimate({160, 160 * 112}, 524288);
  EXPECT_NEAR(std::sqrt(weight.variance.bytes) / weight.sum.bytes, 1 / std::sqrt(160.0), 1e-3);
  EXPECT_NEAR(std::sqrt(weight.variance.blocks) / weight.sum.blocks, 1 / std::sqrt(160.0), 1e-3);
  // A block that is larger than many means is sampled for sure.
  EXPECT_LT(estimate({1, 200 << 20}, 524288).variance.bytes, 1e-100);
}

TEST(Estimate, NothingAndTheExactAreWhatTheyAre) {
  EXPECT_EQ(estimate({0, 0}, 1024).sum, model::HeapSum{});
  EXPECT_EQ(estimate({3, 10}, 0).sum, (model::HeapSum{3, 10}));
  EXPECT_EQ(estimate({3, 10}, 0).variance, model::HeapVariance{});
  const model::HeapWeight hostile = estimate({UINT64_MAX, 1}, 4e18);
  EXPECT_TRUE(std::isfinite(hostile.sum.blocks) && std::isfinite(hostile.sum.bytes));
}

TEST(DumpName, SaysProcessNumberAndReason) {
  const auto name = parse_dump_name("/var/log/jeprof.21626.13.i4.heap");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "/var/log/jeprof");
  EXPECT_EQ(name->pid, 21626);
  EXPECT_EQ(name->sequence, 13u);
  EXPECT_EQ(name->trigger, DumpTrigger::kInterval);
  EXPECT_EQ(name->number, 4u);
  EXPECT_EQ(parse_dump_name("a.b.1.0.f.heap")->prefix, "a.b");
  EXPECT_EQ(parse_dump_name("jeprof.1.0.f.heap")->trigger, DumpTrigger::kFinal);
  EXPECT_EQ(parse_dump_name("jeprof.1.7.m3.heap")->trigger, DumpTrigger::kManual);
  EXPECT_EQ(parse_dump_name("jeprof.1.7.u3.heap")->trigger, DumpTrigger::kHighWater);
}

TEST(DumpName, OfAnotherKindSaysNothing) {
  for (const char* name :
       {"my.heap", "jeprof.1.0.x3.heap", "jeprof.1.0.i.heap", "jeprof.-1.0.i1.heap", "jeprof.1..i1.heap",
        "jeprof.1.0.i1.txt", "", ".heap", "jeprof.99999999999.0.i1.heap"})
    EXPECT_FALSE(parse_dump_name(name)) << name;
}

}  // namespace
}  // namespace fathom::formats
