// Compares a reading from outside with the allocator's own statistics, which the program prints afterwards.
// The program is idle between the two, so the numbers are equal, to the byte if the allocator counts the same
// things.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "attach/allocators/state/process_reader.h"
#include "attach/allocators/state/testing_holder.h"
#include "attach/allocators/testing_libraries.h"
#include "base/fd.h"

namespace fathom::allocators {
namespace {

using testing::Holder;

const AllocatorState* named(const AllocatorStates& states, std::string_view name) {
  for (const AllocatorState& each : states.allocators)
    if (each.name == name) return &each;
  return nullptr;
}

AllocatorState read(const Holder& holder, std::string_view name) {
  auto states = read_allocator_states(holder.pid());
  EXPECT_TRUE(states) << (states ? "" : states.error().message);
  const AllocatorState* state = states ? named(*states, name) : nullptr;
  EXPECT_NE(state, nullptr);
  return state == nullptr ? AllocatorState{} : *state;
}

std::uint64_t present_bytes(int pid) {
  const auto maps = process::read_maps(pid);
  return read_present_pages(pid, *maps)->bytes_in(0, kAddressLimit);
}

// The memory that is resident now in the former ranges of that kind.
std::uint64_t present_in(int pid, const AllocatorState& state, HeldKind kind) {
  const auto maps = process::read_maps(pid);
  const auto present = read_present_pages(pid, *maps);
  std::uint64_t bytes = 0;
  for (const HeldRange& range : state.ranges)
    if (range.kind == kind) bytes += present->bytes_in(range.start, range.end);
  return bytes;
}

std::string in_front(const std::string& library) {
  return "LD_PRELOAD=" + library;
}

// The required accuracy: within a thousandth.
void expect_near(std::uint64_t read, std::uint64_t said, const char* what) {
  const auto off = static_cast<double>(read > said ? read - said : said - read);
  EXPECT_LE(off, static_cast<double>(said) / 1000) << what << ": read " << read << ", said " << said;
}

void expect_as_mallinfo(Holder& holder) {
  const AllocatorState state = read(holder, "glibc");
  const auto said = holder.statistics();  // arena, fordblks, uordblks, hblks, hblkhd, fsmblks
  ASSERT_EQ(said.size(), 6u);
  EXPECT_EQ(state.certainty, Certainty::kVerified) << state.reason;
  std::uint64_t held = 0;
  for (const HeldArena& arena : state.arenas) held += arena.held;
  EXPECT_EQ(held, said[0]);
  EXPECT_EQ(state.bytes(HeldKind::kBins) + state.bytes(HeldKind::kFastBins) + state.bytes(HeldKind::kTop),
            said[1]);
  EXPECT_EQ(state.bytes(HeldKind::kLive) + state.bytes(HeldKind::kThreadCache), said[2]);
  EXPECT_EQ(state.bytes(HeldKind::kMapped), said[4]);
  EXPECT_EQ(state.bytes(HeldKind::kFastBins), said[5]);
}

TEST(GlibcTruth, EqualsMallocsStatisticsForOneThread) {
  Holder holder;
  ASSERT_EQ(holder.tell('f'), "done");
  expect_as_mallinfo(holder);
  const AllocatorState state = read(holder, "glibc");
  EXPECT_EQ(state.arenas.size(), 1u);
  EXPECT_GT(state.bytes(HeldKind::kThreadCache), 0u);
  EXPECT_GT(state.bytes(HeldKind::kMapped), 0u);
  EXPECT_TRUE(state.reason.empty()) << state.reason;
  ASSERT_EQ(holder.tell('a'), "done");
  expect_as_mallinfo(holder);
}

// Every block was written to, and most pages only have some of their blocks left.
TEST(GlibcTruth, SharedPagesAreDividedByTheSizesOfLiveAndFreeBlocks) {
  Holder holder;
  ASSERT_EQ(holder.tell('f'), "done");
  const AllocatorState state = read(holder, "glibc");
  const auto live = static_cast<double>(state.bytes(HeldKind::kLive));
  EXPECT_NEAR(static_cast<double>(state.resident(HeldKind::kLive)), live, 0.1 * live);
  EXPECT_GT(state.free_in_live_pages, state.resident(HeldKind::kLive) / 4);
  EXPECT_NEAR(static_cast<double>(present_in(holder.pid(), state, HeldKind::kLive)),
              static_cast<double>(state.resident(HeldKind::kLive) + state.free_in_live_pages), 64 * 4096);
}

TEST(GlibcTruth, EqualsMallocsStatisticsForSeveralThreads) {
  Holder holder;
  ASSERT_EQ(holder.tell('f'), "done");
  ASSERT_EQ(holder.tell('t'), "done");
  expect_as_mallinfo(holder);
  EXPECT_GT(read(holder, "glibc").arenas.size(), 1u);
}

TEST(GlibcTruth, ASingleArenaForAllThreadsIsReadAsOne) {
  Holder holder({"MALLOC_ARENA_MAX=1"});
  ASSERT_EQ(holder.tell('t'), "done");
  expect_as_mallinfo(holder);
  EXPECT_EQ(read(holder, "glibc").arenas.size(), 1u);
}

TEST(GlibcTruth, TrimGivesBackThePredictedAmount) {
  Holder holder;
  ASSERT_EQ(holder.tell('f'), "done");
  ASSERT_EQ(holder.tell('t'), "done");
  const AllocatorState state = read(holder, "glibc");
  ASSERT_GT(state.returnable, 1u << 20);
  const std::uint64_t before = present_bytes(holder.pid());
  ASSERT_EQ(holder.tell('T'), "done");
  const std::uint64_t given_back = before - present_bytes(holder.pid());
  // malloc_trim first merges the chunks in the fast bins with their neighbours: that can only free more
  // pages.
  EXPECT_GE(given_back + 64 * 1024, state.returnable);
  EXPECT_LE(given_back,
            state.returnable + state.bytes(HeldKind::kFastBins) + state.returnable / 10 + 64 * 1024);
  EXPECT_LT(read(holder, "glibc").returnable, state.returnable / 20);
}

void expect_as_mallctl(const std::string& library, std::string_view versions) {
  Holder holder({in_front(library), "MALLOC_CONF=narenas:8"});  // with one CPU there is only one arena by
                                                                // default
  for (const char command : {'f', 't'}) {
    ASSERT_EQ(holder.tell(command), "done");
    AllocatorState state;
    std::vector<std::uint64_t> said, before;  // allocated, active, dirty, muzzy, retained, metadata
    do {  // jemalloc returns dirty pages over time, on a busy machine between the two answers
      before = holder.statistics();
      state = read(holder, "jemalloc");
      said = holder.statistics();
    } while (said != before);
    ASSERT_EQ(said.size(), 6u);
    EXPECT_EQ(state.certainty, Certainty::kVerified) << state.reason;
    EXPECT_THAT(std::string(state.layout), ::testing::HasSubstr(versions));
    expect_near(state.bytes(HeldKind::kLive), said[0], "allocated");
    expect_near(
        state.bytes(HeldKind::kLive) + state.bytes(HeldKind::kFreeInSlabs) + state.bytes(HeldKind::kPadding),
        said[1], "active");
    expect_near(state.bytes(HeldKind::kDirty), said[2], "dirty");
    expect_near(state.bytes(HeldKind::kMuzzy), said[3], "muzzy");
    expect_near(state.bytes(HeldKind::kRetained), said[4], "retained");
    EXPECT_GT(state.bytes(HeldKind::kMetadata), 0u);
  }
  EXPECT_GT(read(holder, "jemalloc").arenas.size(), 1u);
}

TEST(JemallocTruth, EqualsTheStatisticsOfMallctl) {
  const auto library = testing::libjemalloc();
  FATHOM_NEEDS(library, "libjemalloc2");
  expect_as_mallctl(*library, "5.3");
}

// Other versions, compilers and address widths: "PATH=VERSION", separated by colons.
TEST(JemallocTruth, EqualsTheStatisticsOfLibrariesNamedByTheUser) {
  const char* named = std::getenv("FATHOM_JEMALLOCS");  // NOLINT(concurrency-mt-unsafe): not set meanwhile
  if (named == nullptr) GTEST_SKIP() << "FATHOM_JEMALLOCS is not set";
  std::istringstream list{std::string(named)};
  for (std::string each; std::getline(list, each, ':');) {
    SCOPED_TRACE(each);
    const auto equals = each.find('=');
    ASSERT_NE(equals, std::string::npos);
    expect_as_mallctl(each.substr(0, equals), each.substr(equals + 1));
  }
}

TEST(JemallocTruth, TheHugePageAllocatorIsReportedIfUsed) {
  const auto library = testing::libjemalloc();
  FATHOM_NEEDS(library, "libjemalloc2");
  Holder with({in_front(*library), "MALLOC_CONF=hpa:true"}), without({in_front(*library)});
  for (Holder* holder : {&with, &without}) ASSERT_EQ(holder->tell('f'), "done");
  EXPECT_NE(read(with, "jemalloc").reason.find("opt.hpa"), std::string::npos);
  EXPECT_EQ(read(without, "jemalloc").reason, "");
  const auto said = with.statistics();
  expect_near(read(with, "jemalloc").bytes(HeldKind::kLive), said[0], "allocated");
}

TEST(JemallocTruth, PurgeGivesBackThePredictedAmount) {
  const auto library = testing::libjemalloc();
  FATHOM_NEEDS(library, "libjemalloc2");
  Holder holder({in_front(*library), "MALLOC_CONF=dirty_decay_ms:-1"});
  ASSERT_EQ(holder.tell('f'), "done");
  ASSERT_EQ(holder.tell('a'), "done");
  const AllocatorState state = read(holder, "jemalloc");
  ASSERT_GT(state.returnable, 1u << 20);
  const std::uint64_t before = present_in(holder.pid(), state, HeldKind::kDirty);
  EXPECT_EQ(before, state.returnable);
  ASSERT_EQ(holder.tell('P'), "done");
  EXPECT_EQ(present_in(holder.pid(), state, HeldKind::kDirty), 0u);
  EXPECT_EQ(read(holder, "jemalloc").resident(HeldKind::kDirty), 0u);
}

TEST(AllocatorStates, ReadingMapsNoPage) {
  Holder holder;
  ASSERT_EQ(holder.tell('f'), "done");
  const auto mapped = [&] {  // includes pages of zeros, which are not part of RSS
    const Fd pagemap(::open(("/proc/" + std::to_string(holder.pid()) + "/pagemap").c_str(), O_RDONLY));
    const auto maps = process::read_maps(holder.pid());
    std::uint64_t pages = 0;
    for (const auto& entry : *maps) {
      if (entry.start.value >= kAddressLimit) continue;
      std::vector<std::uint64_t> words(entry.size() / kPageBytes);
      const ssize_t size = ::pread(pagemap.get(), words.data(), words.size() * 8,
                                   static_cast<off_t>(entry.start.value / kPageBytes * 8));
      for (ssize_t i = 0; i < size / 8; ++i) pages += words[static_cast<std::size_t>(i)] >> 63;
    }
    return pages;
  };
  const std::uint64_t before = mapped();
  ASSERT_GT(before, 0u);
  read(holder, "glibc");
  EXPECT_EQ(mapped(), before);
}

// While four threads allocate and free as fast as they can, a reading is either within its own bounds or
// rejected.
void expect_calm_reading_of_a_storm(Holder& holder, std::string_view name) {
  ASSERT_EQ(holder.tell('r'), "done");
  for (int i = 0; i < 20; ++i) {
    const auto states = read_allocator_states(holder.pid());
    ASSERT_TRUE(states);
    const AllocatorState* state = named(*states, name);
    if (state == nullptr) continue;
    if (state->certainty == Certainty::kUnknown) {
      EXPECT_FALSE(state->reason.empty());
      EXPECT_TRUE(state->lines.empty());
    }
    EXPECT_TRUE(state->moved == 0 || state->certainty != Certainty::kVerified);
    for (std::size_t j = 1; j < state->ranges.size(); ++j)
      ASSERT_LE(state->ranges[j - 1].end, state->ranges[j].start);
  }
  ASSERT_EQ(holder.tell('R'), "done");
  EXPECT_EQ(read(holder, name).certainty, Certainty::kVerified);
}

TEST(GlibcTruth, AProcessThatAllocatesDuringTheReadingDoesNoHarm) {
  Holder holder;
  expect_calm_reading_of_a_storm(holder, "glibc");
}

TEST(JemallocTruth, AProcessThatAllocatesDuringTheReadingDoesNoHarm) {
  const auto library = testing::libjemalloc();
  FATHOM_NEEDS(library, "libjemalloc2");
  Holder holder({in_front(*library)});
  expect_calm_reading_of_a_storm(holder, "jemalloc");
}

TEST(AllocatorStates, AnAllocatorThatCannotBeReadIsReportedAsUnknown) {
  const auto mimalloc = testing::libmimalloc();
  FATHOM_NEEDS(mimalloc, "libmimalloc2.0");
  Holder holder({in_front(*mimalloc)});
  ASSERT_EQ(holder.tell('f'), "done");
  const AllocatorState state = read(holder, "mimalloc");
  EXPECT_EQ(state.certainty, Certainty::kUnknown);
  EXPECT_EQ(state.reason, "its records are not read");
  EXPECT_TRUE(state.lines.empty());
}

TEST(AllocatorStates, AProcessThatHasExitedIsNotFound) {
  EXPECT_EQ(read_allocator_states(0x7ffffff0).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::allocators
