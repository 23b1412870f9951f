#include "analysis/core/breakdown.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

TEST(Threads, CarryTheirSamplesAndExactCpuTime) {
  const model::Profile profile = small_server();
  const std::vector<ThreadRow> rows = thread_table(profile, {});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "server");
  EXPECT_EQ(rows[0].value, 700);
  EXPECT_EQ(rows[0].cpu_ns, 7'100'000'000u);
  EXPECT_EQ(rows[1].tid, 11);
  EXPECT_DOUBLE_EQ(rows[1].to_s, 10);
}

TEST(Threads, AThreadWithCpuTimeAndWithoutSamplesIsStillListed) {
  HandMade hand;
  hand.thread(hand.process(1, "app"), 1, "quiet", 5'000'000);
  hand.thread({0}, 2, "silent", 0);
  const std::vector<ThreadRow> rows = thread_table(hand.profile, {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "quiet");
}

TEST(Modules, SelfAddsUpAndUnnamedFramesAreCounted) {
  const model::Profile profile = small_server();
  const CallTree tree = build_call_tree(profile, {});
  std::int64_t self = 0;
  for (const ModuleRow& row : module_table(tree)) {
    self += row.self;
    const std::string& name = tree.modules[row.module].name;
    if (name == "server") {
      EXPECT_EQ(row.total, 900);  // every sample has it, most of them in several frames
      EXPECT_EQ(row.unnamed_frames, 0);
    }
    if (name == "libcodec.so") {
      EXPECT_EQ(row.unnamed_frames, 196);
      EXPECT_EQ(row.frames, 196);
    }
  }
  EXPECT_EQ(self, 900);
}

TEST(Modules, NoTotalExceedsTheWholeInAnyProfile) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const CallTree tree = build_call_tree(profile, {});
    for (const ModuleRow& row : module_table(tree)) {
      EXPECT_LE(row.total, tree.total) << "seed " << seed;
      EXPECT_LE(row.unnamed_frames, row.frames) << "seed " << seed;
    }
  }
}

TEST(Series, AreSummarizedWithinTheSelectedTime) {
  const model::Profile profile = small_server();
  const std::vector<SeriesRow> whole = series_table(profile, {});
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].most, 30 << 20);
  EXPECT_EQ(whole[0].last, 20 << 20);
  const std::vector<SeriesRow> late = series_table(profile, {.from_ns = 9'000'000'000});
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].points, 1u);
  EXPECT_TRUE(series_table(profile, {.pid = 99}).empty());
}

TEST(Processes, AddUpTheirThreads) {
  const model::Profile profile = small_server();
  const std::vector<ProcessRow> rows = process_table(profile, {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].threads, 2u);
  EXPECT_EQ(rows[0].value, 900);
  EXPECT_EQ(rows[0].cpu_ns, 9'100'000'000u);
}

TEST(Processes, DoNotCountThreadsThatDidNothing) {
  model::Profile profile = small_server();
  profile.threads.push_back(profile.threads.front());
  profile.threads.back().cpu_ns = 0;
  EXPECT_EQ(process_table(profile, {}).at(0).threads, 2u);
  EXPECT_EQ(thread_table(profile, {}).size(), 2u) << "the same number as the table of threads";
}

}  // namespace
}  // namespace fathom::analysis
