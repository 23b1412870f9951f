// Dumps that jemalloc itself wrote, of a program that knows the right answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "analysis/core/heap.h"
#include "formats/open/open_profile.h"

namespace fathom::open {
namespace {

using testing::HasSubstr;

constexpr const char* kLibrary = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
constexpr double kSmallClass = 224, kLarge = 3 << 20;

class DumpsOfJemalloc : public testing::Test {
 protected:
  DumpsOfJemalloc() { std::filesystem::create_directories(folder_); }
  ~DumpsOfJemalloc() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    if (!std::filesystem::exists(kLibrary)) GTEST_SKIP() << "needs libjemalloc2, which is not installed";
    if (status_of_run(1, 1, "") == 78) GTEST_SKIP() << "needs libjemalloc2 that can write heap dumps";
    clear();
  }

  // Runs the program, which writes its dumps to the folder.
  void run(int rounds, int blocks, const std::string& more = "") {
    ASSERT_EQ(status_of_run(rounds, blocks, more), 0);
  }
  // 77: another allocator; 78: it cannot write dumps; -1: it did not exit normally.
  int status_of_run(int rounds, int blocks, const std::string& more) {
    std::string program = KEEPS_BLOCKS, first = std::to_string(rounds), second = std::to_string(blocks);
    std::string preload = std::string("LD_PRELOAD=") + kLibrary;
    std::string settings = "MALLOC_CONF=prof:true,lg_prof_sample:14,prof_prefix:" + folder_ + "/d" + more;
    char* const arguments[] = {program.data(), first.data(), second.data(), nullptr};
    char* const environment[] = {preload.data(), settings.data(), nullptr};
    pid_t pid = 0;
    if (::posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environment) != 0) return -1;
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
  }
  Result<model::Profile> open(const std::string& merge = "") {
    DumpOptions options;
    if (!merge.empty()) options.merge = dumps::parse_merge(merge).value();
    return open_profiles({folder_}, {}, NameOptions(""), options);
  }
  void clear() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      std::filesystem::remove(entry.path());
  }

  // The function at the leaf of a site's stack.
  static std::string leaf_of(const model::Profile& profile, const model::HeapSite& site) {
    const model::Frame& frame = profile.frames[profile.stacks[site.stack.value].frame.value];
    if (frame.line_count == 0) return "";
    return std::string(
        profile.strings[profile.functions[profile.lines[frame.first_line].function.value].name]);
  }
  static analysis::HeapAmount of(const model::Profile& profile, std::string_view function,
                                 model::Metric metric, bool since_first = false) {
    analysis::Selection selection;
    if (since_first) selection.from_ns = 1;
    const analysis::HeapSums sums(profile, selection);
    analysis::HeapAmount all;
    for (std::uint32_t i = 0; i < profile.heap.sites.size(); ++i)
      if (leaf_of(profile, profile.heap.sites[i]) == function)
        all.add(sums.value({i}, metric, analysis::HeapUnit::kBytes));
    return all;
  }

  std::string folder_ = testing::TempDir() + "fathom-jemalloc-" + std::to_string(::getpid());
};

TEST_F(DumpsOfJemalloc, ShowLiveMemoryByTheFunctionThatAllocatedIt) {
  run(1, 20'000);
  const auto profile = open();
  ASSERT_TRUE(profile) << profile.error().message;
  // A block of 192 times the mean is always sampled, so it is exact.
  const analysis::HeapAmount large = of(*profile, "keep_large", model::Metric::kHeapLive);
  EXPECT_NEAR(large.value, kLarge, 1);
  // About 270 of the others are sampled: six standard deviations.
  const analysis::HeapAmount small = of(*profile, "keep_small", model::Metric::kHeapLive);
  EXPECT_NEAR(small.value, 20'000 * kSmallClass, 6 * std::sqrt(small.variance));
  EXPECT_GT(small.variance, 0);
}

TEST_F(DumpsOfJemalloc, IntervalsContainTheTrueValueAsOftenAsTheyPromise) {
  constexpr int kRuns = 30;
  int inside = 0;
  for (int i = 0; i < kRuns; ++i) {
    clear();
    run(1, 3'000);
    if (HasFatalFailure()) return;
    const auto profile = open();
    ASSERT_TRUE(profile) << profile.error().message;
    const analysis::HeapAmount small = of(*profile, "keep_small", model::Metric::kHeapLive);
    if (std::fabs(small.value - 3'000 * kSmallClass) <= small.error()) ++inside;
  }
  // 28 or 29 are expected; correct intervals give less than 22 once in 100,000 times.
  EXPECT_GE(inside, 22);
}

TEST_F(DumpsOfJemalloc, OverTimeShowGrowthBySiteAndSubtractAllocations) {
  run(5, 10'000, ",prof_accum:true");
  const auto profile = open("all");
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->heap.slices.size(), 5u);
  const analysis::HeapAmount growth = of(*profile, "keep_small", model::Metric::kHeapGrowth, true);
  EXPECT_NEAR(growth.value, 40'000 * kSmallClass, 6 * std::sqrt(growth.variance));
  EXPECT_NEAR(of(*profile, "keep_large", model::Metric::kHeapGrowth, true).value, 0, 1);
  const analysis::HeapAmount gone = of(*profile, "come_and_go", model::Metric::kHeapAllocated, true);
  EXPECT_NEAR(gone.value, 40'000 * kSmallClass, 6 * std::sqrt(gone.variance));
  EXPECT_NEAR(of(*profile, "come_and_go", model::Metric::kHeapLive).value, 0, 1);
}

TEST_F(DumpsOfJemalloc, TheOneAtExitLacksFreedMemoryAndIsNotTheLatest) {
  run(1, 5'000, ",prof_final:true");
  const auto profile = open();
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_THAT(profile->meta.target, HasSubstr("dump 0 (m0)"));
  EXPECT_NEAR(of(*profile, "keep_large", model::Metric::kHeapLive).value, kLarge, 1);
  EXPECT_THAT(
      profile->quality.notes.front(),
      HasSubstr(". The exit dump is left out because it is written after the program has cleaned up"));
}

}  // namespace
}  // namespace fathom::open
