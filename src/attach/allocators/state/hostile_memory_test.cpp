// Hand-made memory: correct content is read to the byte, wrong content is rejected, and nothing that a
// process can write makes fathom crash, hang, fault pages in or accept impossible numbers.
#include <gtest/gtest.h>

#include <random>

#include "attach/allocators/state/testing_memory.h"

namespace fathom::allocators {
namespace {

using testing::HandMadeGlibc;
using testing::HandMadeJemalloc;
using testing::HandMadeMemory;

// Properties of the result for any memory.
void expect_sound(const AllocatorStates& states, const AddressRanges& present) {
  const std::uint64_t in_memory = present.bytes_in(0, kAddressLimit);
  for (const AllocatorState& state : states.allocators) {
    if (state.certainty == Certainty::kUnknown) {
      EXPECT_FALSE(state.reason.empty());
      EXPECT_TRUE(state.lines.empty());
      EXPECT_TRUE(state.ranges.empty());
      continue;
    }
    std::uint64_t resident = 0;
    for (const HeldLine& line : state.lines) {
      resident += line.resident;
      EXPECT_LT(line.bytes, kAddressLimit) << to_string(line.kind);
    }
    EXPECT_LE(resident, in_memory) << state.name;
    for (std::size_t i = 0; i < state.ranges.size(); ++i) {
      EXPECT_LT(state.ranges[i].start, state.ranges[i].end);
      EXPECT_TRUE(i == 0 || state.ranges[i - 1].end <= state.ranges[i].start);
    }
  }
}

// For each way to divide an address.
class JemallocState : public ::testing::TestWithParam<jemalloc::TreeShape> {
 protected:
  const jemalloc::TreeShape& shape() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Shapes, JemallocState, ::testing::ValuesIn(jemalloc::kShapes),
                         [](const auto& info) { return std::to_string(info.param.levels) + "_levels"; });

TEST_P(JemallocState, AStrippedProgramIsReadToTheByte) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
  jemalloc.add(4096, 0, 4, true, 10);                            // 64 blocks of 64 bytes, 10 of them free
  jemalloc.add(5 * 4096, 0, 17, true, 32, 2);                    // 32 of 640, all free, in another arena
  jemalloc.add(16384 + 4096, 0, 36);                             // a large one with its padding
  jemalloc.add(40 * 4096, 1, 232);                               // dirty
  jemalloc.add(10 * 4096, 2, 232);                               // muzzy
  jemalloc.add(1000 * 4096, 3, 232);                             // retained
  memory.touch(HandMadeJemalloc::kHeap, 6 * 4096);               // both slabs
  memory.touch(HandMadeJemalloc::kHeap + 11 * 4096, 30 * 4096);  // part of the dirty ones
  const AllocatorStates states = memory.states();
  ASSERT_EQ(states.allocators.size(), 1u);
  const AllocatorState& state = states.allocators[0];
  EXPECT_EQ(state.certainty, Certainty::kVerified) << state.reason;
  EXPECT_EQ(state.layout, "5.3");
  EXPECT_EQ(state.module, "/usr/bin/node");
  EXPECT_EQ(state.records, 6u);
  EXPECT_EQ(state.bytes(HeldKind::kLive), 54u * 64 + 16384);
  EXPECT_EQ(state.bytes(HeldKind::kFreeInSlabs), 10u * 64 + 5 * 4096);
  EXPECT_EQ(state.bytes(HeldKind::kPadding), 4096u);
  EXPECT_EQ(state.bytes(HeldKind::kDirty), 40u * 4096);
  EXPECT_EQ(state.resident(HeldKind::kDirty), 30u * 4096);
  EXPECT_EQ(state.bytes(HeldKind::kMuzzy), 10u * 4096);
  EXPECT_EQ(state.bytes(HeldKind::kRetained), 1000u * 4096);
  EXPECT_EQ(state.resident(HeldKind::kRetained), 0u);
  EXPECT_EQ(state.bytes(HeldKind::kMetadata), 3u << 20);
  EXPECT_EQ(state.resident(HeldKind::kLive) + state.resident(HeldKind::kFreeInSlabs), 6u * 4096);
  EXPECT_EQ(state.returnable, 30u * 4096);
  ASSERT_EQ(state.classes.size(), 2u);
  EXPECT_EQ(state.classes[1].size, 640u);
  EXPECT_EQ(state.classes[1].used, 0u);
  ASSERT_EQ(state.arenas.size(), 2u);
  EXPECT_EQ(state.arenas[1].index, 2u);
  EXPECT_EQ(state.arenas[1].free, 5u * 4096);
  EXPECT_EQ(state.ranges[0],
            (HeldRange{HandMadeJemalloc::kBlock, HandMadeJemalloc::kBlock + (4 << 20), HeldKind::kMetadata}));
  EXPECT_EQ(state.ranges[1],
            (HeldRange{HandMadeJemalloc::kHeap, HandMadeJemalloc::kHeap + 11 * 4096, HeldKind::kLive}));
  EXPECT_EQ(memory.faults, 0u);
}

TEST_P(JemallocState, TheVersionIsFoundByTrial) {
  for (const jemalloc::Layout& layout : jemalloc::layouts()) {
    HandMadeMemory memory;
    HandMadeJemalloc jemalloc(memory, layout, shape());
    for (std::uint64_t i = 0; i < 20; ++i) {
      jemalloc.add(5 * 4096, 0, 17, true, i);
      jemalloc.add(16384 + 4096, 0, 36);
      jemalloc.add(4096 * (i + 1), 1 + i % 3, 232);
    }
    const AllocatorStates states = memory.states();
    ASSERT_EQ(states.allocators.size(), 1u);
    EXPECT_EQ(states.allocators[0].certainty, Certainty::kVerified) << states.allocators[0].reason;
    EXPECT_EQ(states.allocators[0].layout, layout.versions);
    EXPECT_EQ(states.allocators[0].bytes(HeldKind::kLive), 20u * 16384 + (20 * 32 - 190) * 640);
  }
}

// A slab has an entry for each of its pages, some of them in the next leaf.
TEST_P(JemallocState, ExtentsMayCrossTheEndOfALeaf) {
  for (const bool slab : {true, false}) {
    HandMadeMemory memory;
    HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
    jemalloc.add(4096, 0, 4, true, 10);
    jemalloc.go_on_before_next_leaf(2 * 4096);
    jemalloc.add(5 * 4096, slab ? 0 : 1, slab ? 17 : 232, slab, 12);
    jemalloc.add(4096, 0, 4, true, 20);
    const AllocatorStates states = memory.states();
    ASSERT_EQ(states.allocators.size(), 1u);
    const AllocatorState& state = states.allocators[0];
    EXPECT_EQ(state.certainty, Certainty::kVerified) << state.reason << state.moved;
    EXPECT_EQ(state.records, 3u);
    EXPECT_EQ(state.bytes(HeldKind::kLive), 54u * 64 + 44 * 64 + (slab ? 20 * 640 : 0));
    EXPECT_EQ(state.bytes(HeldKind::kDirty), slab ? 0 : 5u * 4096);
  }
}

TEST_P(JemallocState, AClearedEntryLeadsToNoRecord) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
  for (int i = 0; i < 100; ++i) jemalloc.add(4096, 0, 4, true, 1);
  // jemalloc leaves the size class in a cleared entry.
  memory.write(jemalloc.entry_of(HandMadeJemalloc::kHeap), shape().wide() ? 0 : std::uint64_t{232} << 48);
  const AllocatorStates states = memory.states();
  ASSERT_EQ(states.allocators.size(), 1u);
  EXPECT_EQ(states.allocators[0].records, 99u);
  EXPECT_EQ(states.allocators[0].certainty, Certainty::kVerified);
}

TEST_P(JemallocState, AFewInconsistentRecordsAreCountedAndManyAreRejected) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
  std::vector<std::uint64_t> records;
  for (int i = 0; i < 400; ++i) records.push_back(jemalloc.add(4096, 0, 4, true, 1));
  memory.write(records[7] + 8, 0x7f0041234000);  // now it belongs to another page
  AllocatorStates states = memory.states();
  EXPECT_EQ(states.allocators[0].certainty, Certainty::kMoved);
  EXPECT_EQ(states.allocators[0].moved, 1u);
  EXPECT_EQ(states.allocators[0].moved_bytes, 4096u);
  EXPECT_EQ(states.allocators[0].bytes(HeldKind::kLive), 399u * 63 * 64);
  for (std::size_t i = 100; i < 200; ++i) memory.write(records[i] + 8, 0x7f0041234000);
  states = memory.states();
  EXPECT_EQ(states.allocators[0].certainty, Certainty::kUnknown);
  EXPECT_NE(states.allocators[0].reason.find("101 of 400 records"), std::string::npos)
      << states.allocators[0].reason;
  expect_sound(states, memory.present());
}

TEST_P(JemallocState, OverlappingExtentsAreNotCountedTwice) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
  for (int i = 0; i < 200; ++i) jemalloc.add(8 * 4096, 1, 232);
  const std::uint64_t large = jemalloc.add(8 * 4096, 1, 232);
  jemalloc.add(8 * 4096, 1, 232);
  memory.write(large + 16, 16 * 4096);  // claims to overlap the next one
  const AllocatorStates states = memory.states();
  EXPECT_EQ(states.allocators[0].moved, 1u);
  EXPECT_EQ(states.allocators[0].bytes(HeldKind::kDirty), 200u * 8 * 4096 + 16 * 4096);
  expect_sound(states, memory.present());
}

TEST_P(JemallocState, ARecordThatIsNotInMemoryIsNotFetched) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
  for (int i = 0; i < 700; ++i) jemalloc.add(4096, 0, 4, true, 1);
  memory.drop(HandMadeJemalloc::kRecords + 4096);  // 32 records
  const AllocatorStates states = memory.states();
  EXPECT_EQ(memory.faults, 0u);
  EXPECT_EQ(states.allocators[0].moved, 32u);
}

TEST_P(JemallocState, ACircularChainOfMetadataEnds) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0], shape());
  jemalloc.add(4096, 0, 4, true, 1);
  memory.write(HandMadeJemalloc::kBlock + 8, HandMadeJemalloc::kBlock);
  const AllocatorStates states = memory.states();
  EXPECT_EQ(states.allocators[0].bytes(HeldKind::kMetadata), 3u << 20);
}

// Another version, or a library that is loaded and unused.
TEST(JemallocStates, WithoutATreeItIsReportedAsUnknown) {
  HandMadeMemory memory;
  memory.map(0x7f0000000000, 0x10000, "/usr/lib/libjemalloc.so.2");
  const AllocatorStates states = memory.states();
  ASSERT_EQ(states.allocators.size(), 1u);
  EXPECT_EQ(states.allocators[0].name, "jemalloc");
  EXPECT_EQ(states.allocators[0].certainty, Certainty::kUnknown);
  EXPECT_EQ(states.allocators[0].reason, "it was never used, or its records have an unknown version");
}

// Every program has these: a reading each second must not follow them all.
TEST(JemallocStates, PointersInDataAreNotTakenForEntriesOfARoot) {
  constexpr std::uint64_t kData = 0x5555'0000'0000, kDataBytes = 1 << 20, kHeap = 0x7f00'0000'0000;
  HandMadeMemory memory;
  memory.map(kData, 0x1000, "/bin/program");
  memory.map(kData + 0x1000, kDataBytes);
  memory.map(kHeap, 64 << 20);
  for (std::uint64_t at = 0; at < kDataBytes; at += 256) memory.write(kData + 0x1000 + at, kHeap + at * 16);
  for (std::uint64_t at = 0; at < 16 * kDataBytes; at += 4096) memory.write(kHeap + at, at + 1);
  EXPECT_TRUE(memory.states().allocators.empty());
  EXPECT_LT(memory.bytes_read, 3 * kDataBytes);
}

TEST(GlibcState, TheMainArenaIsReadToTheByte) {
  HandMadeMemory memory;
  HandMadeGlibc glibc(memory);
  glibc.free(0x1000, 0x5000);
  glibc.free(0x8000, 0x40, 3);
  glibc.free(0x9000, 0x40, 3);
  glibc.free_fast(0xa000, 0x30);
  glibc.free_fast(0xb000, 0x30);
  memory.touch(HandMadeGlibc::kHeap, 0x10000);
  const AllocatorStates states = memory.states();
  ASSERT_EQ(states.allocators.size(), 1u);
  const AllocatorState& state = states.allocators[0];
  EXPECT_EQ(state.certainty, Certainty::kVerified) << state.reason;
  EXPECT_EQ(state.bytes(HeldKind::kBins), 0x5000u + 2 * 0x40);
  EXPECT_EQ(state.bytes(HeldKind::kFastBins), 2u * 0x30);
  EXPECT_EQ(state.bytes(HeldKind::kTop), 0x2000u);
  EXPECT_EQ(state.bytes(HeldKind::kLive), HandMadeGlibc::kHeapBytes - 0x5000u - 0x80 - 0x60 - 0x2000);
  // Four pages of its own (malloc keeps the first one: its links are there), and a part of those that it
  // shares.
  EXPECT_GT(state.resident(HeldKind::kBins), 0x4000u);
  EXPECT_LE(state.resident(HeldKind::kBins), 0x5000u + 2 * 0x40);
  std::uint64_t resident = 0;
  for (const HeldLine& line : state.lines) resident += line.resident;
  EXPECT_GE(resident, 0x10000u);
  EXPECT_LE(resident, 0x11000u) << "a page that its records touch";
  EXPECT_EQ(state.returnable, 0x4000u);
  EXPECT_EQ(memory.faults, 0u);
}

TEST(GlibcState, ACircularListEndsAndIsReported) {
  HandMadeMemory memory;
  HandMadeGlibc glibc(memory);
  glibc.free(0x1000, 0x5000);
  glibc.free(0x8000, 0x5000);
  memory.write(HandMadeGlibc::kHeap + 0x8000 + 16, HandMadeGlibc::kHeap + 0x1000);
  AllocatorStates states = memory.states();
  EXPECT_EQ(states.allocators[0].certainty, Certainty::kMoved);
  EXPECT_GT(states.allocators[0].moved_bytes, 0u);
  // A circle whose links also point back is followed until its size exceeds its arena's.
  memory.write(HandMadeGlibc::kHeap + 0x1000 + 24, HandMadeGlibc::kHeap + 0x8000);
  memory.write(glibc::bin_chunk(HandMadeGlibc::kArena, 0) + 16, HandMadeGlibc::kHeap + 0x1000);
  glibc.free_fast(0xb000, 0x30);
  memory.write(HandMadeGlibc::kHeap + 0xb010,
               (HandMadeGlibc::kHeap + 0xb000) ^ (HandMadeGlibc::kHeap + 0xb010) >> 12);
  states = memory.states();
  EXPECT_GE(states.allocators[0].moved, 2u);
  EXPECT_LT(memory.bytes_read, 64u << 20);
  expect_sound(states, memory.present());
}

TEST(GlibcState, AnInconsistentArenaIsUnknown) {
  for (const auto& [offset, value] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0x870, 0x1000},                       // the ring leads nowhere
           {0x888, 12345},                        // not a multiple of a page
           {0x890, 4096},                         // less than it has
           {0x70, HandMadeGlibc::kHeap},          // forward into the heap, backward to itself
           {0, 3},                                // not a state of a mutex
           {0x60, HandMadeGlibc::kHeap + 8192}})  // there is no chunk
  {
    HandMadeMemory memory;
    HandMadeGlibc glibc(memory);
    memory.write(HandMadeGlibc::kArena + offset, value);
    const AllocatorStates states = memory.states();
    ASSERT_EQ(states.allocators.size(), 1u) << offset;
    EXPECT_EQ(states.allocators[0].certainty, Certainty::kUnknown) << offset;
    expect_sound(states, memory.present());
  }
}

// Replaces words of valid memory by others, by pointers into all mapped memory, or by noise.
TEST(HostileMemory, NothingThatAProcessWritesIsTrusted) {
  std::mt19937_64 random(20261123);
  const std::uint64_t bases[] = {HandMadeJemalloc::kRoot,    HandMadeJemalloc::kBlock,
                                 HandMadeJemalloc::kLeaf,    HandMadeJemalloc::kHeap,
                                 HandMadeGlibc::kArena,      HandMadeGlibc::kHeap,
                                 HandMadeJemalloc::kRecords, HandMadeJemalloc::kTable};
  for (int round = 0; round < 120; ++round) {
    HandMadeMemory memory;
    HandMadeJemalloc jemalloc(memory, jemalloc::layouts()[0],
                              jemalloc::kShapes[static_cast<unsigned>(round) % std::size(jemalloc::kShapes)]);
    HandMadeGlibc glibc(memory);
    for (int i = 0; i < 40; ++i) jemalloc.add(5 * 4096, 0, 17, true, random() % 33);
    for (int i = 0; i < 20; ++i) glibc.free(0x1000 + i * 0x2000u, 0x1000);
    for (std::uint64_t i = 0, count = random() % 60; i < count; ++i) {
      const std::uint64_t address = bases[random() % std::size(bases)] + random() % 1024 * 8;
      const std::uint64_t kind = random() % 4;
      memory.write(address / 8 * 8, kind == 0   ? random()
                                    : kind == 1 ? bases[random() % std::size(bases)] + random() % 512 * 16
                                    : kind == 2 ? std::uint64_t{1} << random() % 64
                                                : memory.word(bases[random() % std::size(bases)] / 8 * 8));
    }
    const AllocatorStates states = memory.states();
    EXPECT_EQ(memory.faults, 0u);
    EXPECT_LT(memory.bytes_read, 256u << 20);
    expect_sound(states, memory.present());
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(HostileMemory, NoiseIsNotTakenForAnAllocator) {
  std::mt19937_64 random(7);
  HandMadeMemory memory;
  memory.map(0x5555'0000'0000, 0x2000, "/bin/noise");
  memory.map(0x5555'0000'2000, 4 << 20);
  memory.map(0x7f00'0000'0000, 16 << 20);
  for (std::uint64_t at = 0; at < 4 << 20; at += 8)
    memory.write(0x5555'0000'2000 + at, 0x7f00'0000'0000 + random() % (16 << 20) / 64 * 64);
  for (std::uint64_t at = 0; at < 16 << 20; at += 8)
    memory.write(0x7f00'0000'0000 + at, 0x7f00'0000'0000 + random() % (16 << 20) / 64 * 64);
  const AllocatorStates states = memory.states();
  for (const AllocatorState& state : states.allocators) EXPECT_EQ(state.certainty, Certainty::kUnknown);
  expect_sound(states, memory.present());
}

TEST(AllocatorState, AReadingBeyondItsLimitsGivesNoNumbers) {
  HandMadeMemory memory;
  HandMadeJemalloc jemalloc(memory);
  HandMadeGlibc glibc(memory);
  for (int i = 0; i < 64; ++i) jemalloc.add(5 * 4096, 0, 17, true, 3);
  for (unsigned i = 0; i < 64; ++i) glibc.free(0x1000 + i * 0x2000, 0x1000);
  const AddressRanges present = memory.present();
  (void)memory.states();
  const std::uint64_t needed = memory.bytes_read;
  for (std::uint64_t allowed = 0; allowed < needed; allowed += 1 + needed / 200) {
    memory.bytes_read = 0;
    const AllocatorStates states = memory.states({.bytes = allowed});
    expect_sound(states, present);
    EXPECT_TRUE(states.cut);
    EXPECT_LE(memory.bytes_read, allowed);
    for (const AllocatorState& state : states.allocators) {
      if (state.certainty == Certainty::kUnknown) continue;
      EXPECT_EQ(state.name, "jemalloc")
          << "it is read first; of glibc too little was read, whatever the limit";
      EXPECT_EQ(state.bytes(HeldKind::kLive), 64u * 29 * 640);
    }
  }
  EXPECT_FALSE(memory.states({.bytes = 2 * needed}).cut);
  const AllocatorStates late = memory.states({.until_ns = 1});
  EXPECT_TRUE(late.cut);
  for (const AllocatorState& state : late.allocators) EXPECT_EQ(state.certainty, Certainty::kUnknown);
}

}  // namespace
}  // namespace fathom::allocators
