// Statistics as jemalloc prints them: those of the system's 5.3, compared with its answers for each number,
// and the layouts of other versions.
#include "attach/allocators/statistics/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "attach/allocators/state/remedies.h"
#include "attach/allocators/statistics/held_by.h"
#include "base/shell_word.h"

namespace fathom::allocators {
namespace {

using testing::HasSubstr;

constexpr const char* kLibrary = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> part;
  for (std::size_t count; (count = ::fread(part.data(), 1, part.size(), pipe)) != 0;)
    text.append(part.data(), count);
  ::pclose(pipe);
  return text;
}

struct Asked {
  std::uint64_t allocated = 0, active = 0, metadata = 0, resident = 0, retained = 0, dirty_pages = 0;
};

class OfJemalloc : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kLibrary)) GTEST_SKIP() << "needs libjemalloc2, which is not installed";
    text_ = output_of(std::string("LD_PRELOAD=") + kLibrary + " " + shell_word(PRINTS_STATISTICS) + " '" +
                      GetParam() + "'");
    std::istringstream line(text_.substr(text_.rfind("asked:") + 6));
    line >> asked_.allocated >> asked_.active >> asked_.metadata >> asked_.resident >> asked_.retained >>
        asked_.dirty_pages;
    ASSERT_TRUE(line) << text_;
  }
  std::string text_;
  Asked asked_;
};

TEST_P(OfJemalloc, SaysWhatItAnswersWhenItIsAsked) {
  ASSERT_TRUE(holds_statistics(text_));
  const std::vector<Statistics> all = read_statistics(text_);
  ASSERT_EQ(all.size(), 1u);
  const Statistics& one = all.front();
  EXPECT_EQ(one.allocated, asked_.allocated);
  EXPECT_EQ(one.active, asked_.active);
  EXPECT_EQ(one.metadata, asked_.metadata);
  EXPECT_EQ(one.resident, asked_.resident);
  EXPECT_EQ(one.retained, asked_.retained);
  EXPECT_EQ(one.dirty, asked_.dirty_pages * 4096);
  EXPECT_EQ(one.page_bytes, 4096u);
  EXPECT_TRUE(one.version.starts_with("5.")) << one.version;
  EXPECT_FALSE(one.cut);
  EXPECT_EQ(one.unread, 0u);
  ASSERT_NE(one.setting("opt.dirty_decay_ms"), nullptr);
  EXPECT_EQ(*one.setting("opt.dirty_decay_ms"), "10000");
  ASSERT_NE(one.setting("opt.lg_prof_sample"), nullptr);
  EXPECT_EQ(*one.setting("opt.lg_prof_sample"), "19");
  ASSERT_NE(one.setting("config.stats"), nullptr);
  EXPECT_EQ(*one.setting("config.stats"), "true");
}

TEST_P(OfJemalloc, ClassesAddUpToWhatIsAllocated) {
  const Statistics one = read_statistics(text_).front();
  std::uint64_t live = 0;
  for (const StatisticsClass& of : one.classes) live += of.live_bytes();
  EXPECT_EQ(live, one.allocated);
  const auto found = std::ranges::find(one.classes, 512u, &StatisticsClass::size);
  ASSERT_NE(found, one.classes.end());
  EXPECT_FALSE(found->large);
  EXPECT_EQ(found->blocks_in_slab, 8u);
  EXPECT_EQ(found->slab_bytes, 4096u);
  // Half of a thousand, and what the thread's cache keeps of the others.
  EXPECT_GE(found->live, 500u);
  EXPECT_LE(found->live, 1000u);
  EXPECT_GT(found->free_bytes(), 0u);
  const auto large = std::ranges::find(one.classes, std::uint64_t{1} << 20, &StatisticsClass::size);
  ASSERT_NE(large, one.classes.end());
  EXPECT_TRUE(large->large);
  EXPECT_EQ(large->live, 2u);
}

TEST_P(OfJemalloc, WhatIsHeldAddsUpToPagesInUse) {
  const Statistics one = read_statistics(text_).front();
  const AllocatorState held = held_by(one);
  EXPECT_EQ(held.certainty, Certainty::kVerified);
  EXPECT_EQ(held.bytes(HeldKind::kLive) + held.bytes(HeldKind::kFreeInSlabs) + held.bytes(HeldKind::kPadding),
            one.active);
  EXPECT_EQ(held.bytes(HeldKind::kDirty), one.dirty);
  EXPECT_EQ(held.returnable, *one.dirty + *one.muzzy);
}
INSTANTIATE_TEST_SUITE_P(Forms, OfJemalloc, testing::Values("", "J"),
                         [](const auto& form) { return *form.param == 'J' ? "Json" : "Text"; });

// The layout of 4.0, which redis had for years.
constexpr std::string_view kFour = R"(___ Begin jemalloc statistics ___
Version: 4.0.3-0-g1234
Run-time option settings:
  opt.lg_dirty_mult: 3 (arenas.lg_dirty_mult: 5)
Arenas: 8
Page size: 4096
Chunk size: 2097152 (2^21)
Allocated: 1000000, active: 1200128, metadata: 50000, resident: 1500000, mapped: 2097152

arenas[0]:
dirty pages: 293:20 active:dirty, 3 sweeps, 4 madvises, 5 purged
                            allocated      nmalloc      ndalloc    nrequests
small:                         851968        10000         1000        20000
bins:           size ind    allocated      nmalloc      ndalloc    nrequests      curregs      curruns regs pgs  util       nfills     nflushes      newruns       reruns
                  64   4       640000        20000        10000        30000        10000          160   64   1 0.976            9            8            7            6
                     ---
large:          size ind    allocated      nmalloc      ndalloc    nrequests      curruns
               40960  40       360000           20           10           20            8
                     ---
huge:           size ind    allocated      nmalloc      ndalloc    nrequests   curhchunks
--- End jemalloc statistics ---
)";

TEST(StatisticsText, OfVersionFour) {
  const Statistics one = read_statistics(kFour).at(0);
  EXPECT_EQ(one.version, "4.0.3");
  EXPECT_EQ(one.allocated, 1'000'000u);
  EXPECT_EQ(one.retained, std::nullopt);
  EXPECT_EQ(one.dirty, 20u * 4096);
  EXPECT_EQ(*one.setting("opt.lg_dirty_mult"), "5");
  ASSERT_EQ(one.classes.size(), 2u);
  EXPECT_EQ(one.classes[0].live, 10'000u);
  EXPECT_EQ(one.classes[0].slabs, 160u);
  EXPECT_EQ(one.classes[0].free_bytes(), (160u * 64 - 10'000) * 64);
  EXPECT_TRUE(one.classes[1].large);
  EXPECT_EQ(one.classes[1].live, 8u);
  EXPECT_EQ(one.unread, 0u);
}

TEST(StatisticsText, OfAllArenasIsNotAddedToThatOfEach) {
  constexpr std::string_view kArena =
      "decaying:  time       npages       sweeps     madvises       purged\n"
      "   dirty: 10000           {}            0            0            0\n"
      "tcache_bytes:   100\n"
      "bins:  size ind allocated nmalloc ndalloc nrequests curregs curslabs regs pgs util\n"
      "         64   4       640      10       0        10      10        1   64   1 0.156\n";
  const auto arena = [&](std::string_view title, const char* pages) {
    std::string text(kArena);
    text.replace(text.find("{}"), 2, pages);
    return std::string(title) + "\n" + text;
  };
  const std::string begin =
      "___ Begin jemalloc statistics ___\nPage size: 4096\nArenas: 2\nAllocated: 1280, active: 8192\n";
  const Statistics merged =
      read_statistics(begin + arena("Merged arenas stats:", "7") + arena("Destroyed arenas stats:", "99") +
                      arena("arenas[0]:", "3") + arena("arenas[1]:", "4"))
          .at(0);
  EXPECT_EQ(merged.dirty, 7u * 4096);
  EXPECT_EQ(merged.thread_caches, 100u);
  EXPECT_EQ(merged.classes.at(0).live, 10u);
  const Statistics each = read_statistics(begin + arena("arenas[0]:", "3") + arena("arenas[1]:", "4")).at(0);
  EXPECT_EQ(each.dirty, 7u * 4096);
  EXPECT_EQ(each.thread_caches, 200u);
  EXPECT_EQ(each.classes.at(0).live, 20u);
  EXPECT_EQ(each.classes.at(0).slabs, 2u);
  EXPECT_EQ(each.arenas_read, 2u);
}

TEST(StatisticsText, OfALogWithWordsBeforeEachLine) {
  std::string log = "2026-01-01T10:00:00Z node[7]: started; jemalloc\n";
  std::istringstream lines{std::string(kFour)};
  int second = 10;
  for (std::string line; std::getline(lines, line);)
    log += "2026-01-01T10:00:" + std::to_string(second++) + "Z node[7]: " + line + "\n";
  const std::vector<Statistics> all = read_statistics(log + std::string(kFour));
  ASSERT_EQ(all.size(), 2u);
  for (const Statistics& one : all) {
    EXPECT_EQ(one.allocated, 1'000'000u);
    EXPECT_EQ(one.classes.size(), 2u);
    EXPECT_FALSE(one.cut);
  }
}

TEST(StatisticsText, ACutOneIsReported) {
  const std::string start(kFour.substr(0, kFour.find("large:")));
  const std::vector<Statistics> all = read_statistics(start + std::string(kFour));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].cut);
  EXPECT_EQ(all[0].classes.size(), 1u);
  EXPECT_FALSE(all[1].cut);
  EXPECT_TRUE(read_statistics("{\"jemalloc\": {\"version\": \"5.3.0\"").at(0).cut);
}

TEST(StatisticsText, RowsThatDoNotFitTheirHeadAreCounted) {
  std::string text(kFour);
  text.replace(text.find("        20000        10000        30000"), 39,
               "        20000123456789012345        30000");
  const Statistics one = read_statistics(text).at(0);
  EXPECT_EQ(one.unread, 1u);
  EXPECT_EQ(one.classes.size(), 1u);  // the large one
}

TEST(StatisticsText, LocksThatWereWaitedForStandInTheOrderOfTheirWaits) {
  const Statistics one = read_statistics(
                             "___ Begin jemalloc statistics ___\n"
                             "         n_lock_ops (#/sec) n_waiting (#/sec) n_spin_acq (#/sec) "
                             "n_owner_switch (#/sec) total_wait_ns (#/sec) "
                             "max_wait_ns max_n_thds\n"
                             "ctl               4       4         0       0          0       0              "
                             "1       1             7       0 "
                             "          7          0\n"
                             "arenas[3]:\n"
                             "         n_lock_ops (#/sec) n_waiting (#/sec) n_spin_acq (#/sec) "
                             "n_owner_switch (#/sec) total_wait_ns (#/sec) "
                             "max_wait_ns max_n_thds\n"
                             "large             9       9         5       0          0       0              "
                             "1       1         90000       0 "
                             "       7000          2\n"
                             "base              9       9         0       0          0       0              "
                             "1       1             0       0 "
                             "          0          0\n")
                             .at(0);
  ASSERT_EQ(one.locks.size(), 2u);
  EXPECT_EQ(one.locks[0].name, "arena 3: large");
  EXPECT_EQ(one.locks[0].waited_ns, 90'000u);
  EXPECT_EQ(one.locks[1].name, "ctl");
}

TEST(StatisticsText, NumbersThatCannotBeDoNotWrapAround) {
  const Statistics one =
      read_statistics(
          "___ Begin jemalloc statistics ___\nAllocated: 5, active: 18446744073709551615\narenas[0]:\n"
          "bins:  size ind nmalloc curregs curslabs regs pgs\n"
          "18446744073709551615 1 18446744073709551615 3 18446744073709551615 9 9\n")
          .at(0);
  EXPECT_EQ(one.classes.at(0).live_bytes(), UINT64_MAX);
  EXPECT_EQ(one.classes.at(0).free_bytes(), UINT64_MAX);
  const AllocatorState held = held_by(one);
  EXPECT_EQ(held.bytes(HeldKind::kFreeInSlabs), UINT64_MAX - 5);
}

// A hostile text may begin a hundred thousand of them and end none.
TEST(StatisticsText, BeginningsWithoutAnEndAreGoneThroughOnce) {
  std::string json, text;
  for (int i = 0; i < 100'000; ++i) {
    json += "{\"jemalloc\":";
    text += "___ Begin jemalloc statistics ___";
  }
  EXPECT_EQ(read_statistics(json).size(), 1u);
  EXPECT_EQ(read_statistics(text, 10'000'000).size(), 100'000u);
  EXPECT_EQ(read_statistics(json + text).size(), 10'000u);
}

TEST(StatisticsText, WithoutTotalsNothingIsKnown) {
  const Statistics one =
      read_statistics(
          "___ Begin jemalloc statistics ___\n  config.stats: false\n--- End jemalloc statistics ---")
          .at(0);
  EXPECT_EQ(held_by(one).certainty, Certainty::kUnknown);
  EXPECT_THAT(held_by(one).reason, HasSubstr("without statistics"));
  EXPECT_TRUE(remedies_of(held_by(one)).empty());
}

TEST(StatisticsText, OtherTextsHoldNone) {
  EXPECT_FALSE(holds_statistics("main;work 5\n"));
  EXPECT_FALSE(holds_statistics("{\"name\": \"jemalloc\", \"jemalloc\": 1}"));
  EXPECT_FALSE(holds_statistics(""));
  EXPECT_TRUE(read_statistics("nothing").empty());
}

}  // namespace
}  // namespace fathom::allocators
