#include "formats/heaptrack/heaptrack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/import/import_testing.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A ledger that keeps one of two pages of 16 bytes, and a cover of 256 that comes and goes.
constexpr std::string_view kLedger =
    "v 10400 3\n"
    "X ./ledger 1 2\n"
    "I 1000 100\n"
    "s b /opt/ledger\n"
    "s 4 main\n"
    "s a src/book.c\n"
    "s 4 keep\n"
    "s 5 inner\n"
    "i 401000 1 2 3 a\n"          // main, line 10
    "i 402000 1 5 3 20 4 3 1f\n"  // inner, inlined into keep
    "i 7f0000 0\n"
    "t 1 0\n"
    "t 2 1\n"
    "t 3 1\n"
    "a 10 2\n"
    "a 100 3\n"
    "+ 0\n"
    "c 3e8\n"
    "R 10\n"
    "+ 1\n"
    "- 1\n"
    "+ 0\n"
    "+ 1\n"
    "c bb8\n"
    "- 0\n"
    "- 1\n"
    "c 1388\n"
    "# strings: 5\n";

model::Profile ledger() {
  return read_heaptrack(kLedger, "x").value();
}

TEST(Heaptrack, IsKnownByItsFirstLine) {
  EXPECT_TRUE(is_heaptrack(kLedger));
  EXPECT_TRUE(is_heaptrack("v 10200\n"));
  EXPECT_FALSE(is_heaptrack("v 1\n")) << "folded stacks of a thread v";
  EXPECT_FALSE(is_heaptrack("v;f 10400\n"));
  EXPECT_FALSE(is_heaptrack(""));
}

TEST(Heaptrack, EveryCallIsCounted) {
  const model::Profile profile = ledger();
  EXPECT_THAT(stacks_of(profile, Metric::kHeapAllocations),
              ElementsAre("main;0x7f0000 2", "main;keep;inner 2"));
  EXPECT_THAT(stacks_of(profile, Metric::kHeapAllocated),
              ElementsAre("main;0x7f0000 512", "main;keep;inner 32"));
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("main;keep;inner 16"));
  EXPECT_EQ(profile.heap.heaps[0].events, 7u);
  EXPECT_TRUE(profile.heap.heaps[0].from_start);
}

TEST(Heaptrack, ABlockThatIsFreedNextIsTemporary) {
  EXPECT_THAT(stacks_of(ledger(), Metric::kHeapTemporary), ElementsAre("main;0x7f0000 1"))
      << "of the second one another block was freed before";
}

TEST(Heaptrack, ThePeakIsExactToTheEvent) {
  const model::Profile profile = ledger();
  EXPECT_EQ(profile.heap.heaps[0].peak_bytes, 288);
  EXPECT_EQ(profile.heap.heaps[0].peak_blocks, 3);
  EXPECT_THAT(stacks_of(profile, Metric::kHeapPeak), ElementsAre("main;0x7f0000 256", "main;keep;inner 32"));
}

TEST(Heaptrack, SlicesFollowOneAnotherAndEndWithWhatIsLive) {
  const model::Profile profile = ledger();
  ASSERT_EQ(profile.heap.slices.size(), 4u);
  EXPECT_EQ(profile.heap.slices[0].live_bytes, 16);
  EXPECT_EQ(profile.heap.slices[1].live_bytes, 288);
  EXPECT_EQ(profile.heap.slices[1].end_ns - profile.meta.start_ns, 3'000'000'000u);
  EXPECT_EQ(profile.heap.slices.back().live_bytes, 16);
  EXPECT_DOUBLE_EQ(profile.duration_s(), 5);
  for (std::size_t i = 1; i < profile.heap.slices.size(); ++i)
    EXPECT_EQ(profile.heap.slices[i].start_ns, profile.heap.slices[i - 1].end_ns);
}

TEST(Heaptrack, TheProgramItsMemoryAndItsLinesAreKept) {
  const model::Profile profile = ledger();
  EXPECT_EQ(profile.strings[profile.processes[0].name], "ledger");
  ASSERT_EQ(profile.series.size(), 1u);
  EXPECT_EQ(profile.series[0].points[0].value, 16 * 4096);
  EXPECT_EQ(profile.strings[profile.lines[0].file], "src/book.c");
  EXPECT_EQ(profile.lines[0].line, 10u);
}

TEST(Heaptrack, RawFilesHavePlacesInModules) {
  const model::Profile profile = read_heaptrack(
                                     "v 10400 3\n"
                                     "x b /opt/ledger\n"
                                     "X /opt/ledger 1\n"
                                     "m 1 -\n"
                                     "m 1 x 555500000000 0 2000 3000 1000\n"
                                     "m d /lib/l i b.so 7f0000000000 0 1000\n"
                                     "t 555500001234 0\n"
                                     "t 7f0000000010 1\n"
                                     "+ 10 2 aaa0\n"
                                     "+ 10 2 bbb0\n"
                                     "+ 20 1 ccc0\n"
                                     "- aaa0\n"
                                     "- ddd0\n",
                                     "x")
                                     .value();
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive),
              ElementsAre("[ledger+0x1234] 32", "[ledger+0x1234];[l i b.so+0x10] 16"));
  EXPECT_THAT(profile.quality.notes, Contains("1 frees are of blocks that were never allocated."));
  EXPECT_THAT(profile.quality.notes, Contains(HasSubstr("heaptrack_interpret < FILE")));
}

TEST(Heaptrack, FilesOfOlderVersionsHaveTextsToTheEndOfTheLine) {
  const model::Profile profile =
      read_heaptrack("v 10200\ns /opt/my ledger\ns main\ni 1 1 2\nt 1 0\na 8 1\n+ 0\n", "x").value();
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("main 8"));
  EXPECT_EQ(profile.strings[profile.modules[1].name], "my ledger");
}

TEST(Heaptrack, WhoWasAttachedToHasEarlierBlocks) {
  const model::Profile profile = read_heaptrack("v 10400 3\nA\na 8 0\n- 0\n+ 0\n", "x").value();
  EXPECT_FALSE(profile.heap.heaps[0].from_start);
  EXPECT_EQ(profile.heap.heaps[0].earlier_frees, 1u);
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), 8);
}

TEST(Heaptrack, DamageIsSaidWithItsLine) {
  const auto refusal = [](std::string_view text) {
    const auto read = read_heaptrack(text, "x.zst");
    return read ? "read" : read.error().message;
  };
  EXPECT_EQ(refusal("v 10400 4\n"), "x.zst: heaptrack's file version 4, and 3 is the latest that is read");
  EXPECT_EQ(refusal("v 10400 3\nt x 0\na 8 1\n+ 0\n"), "x.zst: line 2: not a record of heaptrack")
      << "all stacks behind it would be others";
  EXPECT_EQ(refusal("v 10400 3\nt 1 0\na 8 9\n+ 0\n"), "x.zst: line 3: not a record of heaptrack");
  EXPECT_EQ(refusal("v 10400 3\na 3fffffffffffffff 0\n+ 0\n+ 0\n# \n"), "read")
      << "more bytes than there are: the second one is left out";
}

TEST(Heaptrack, ALineThatIsNoRecordCostsItself) {
  const std::size_t at = kLedger.find("\n+ ") + 1;
  std::string text(kLedger);
  text.insert(at, "WARNING: disk\n");
  const model::Profile damaged = read_heaptrack(text, "x").value(),
                       whole = read_heaptrack(kLedger, "x").value();
  EXPECT_EQ(damaged.heap.rows, whole.heap.rows);
  EXPECT_THAT(damaged.quality.notes,
              testing::Contains(testing::HasSubstr("no records of heaptrack and is left out")));
}

TEST(Heaptrack, AFileThatWasCutIsReadUpToThere) {
  for (std::size_t size = 10; size < kLedger.size(); ++size) {
    const auto read = read_heaptrack(kLedger.substr(0, size), "x");
    ASSERT_TRUE(read) << size << ": " << read.error().message;
  }
}

}  // namespace
}  // namespace fathom::formats
