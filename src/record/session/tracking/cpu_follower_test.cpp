#include "record/session/tracking/cpu_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct CpuFollowerTest : ::testing::Test {
  void change(const std::vector<int>& online) {
    follower.change(
        online, [&](int cpu) { events.push_back(fmt::format("-{}", cpu)); },
        [&](int cpu) -> Result<> {
          events.push_back(fmt::format("+{}", cpu));
          if (refused) return fail(ErrorKind::kPermission, "not allowed");
          return {};
        },
        [&](int cpu) { return cpu == restarted; });
  }
  CpuFollower follower;
  std::vector<std::string> events;
  bool refused = false;
  int restarted = -1;
};

TEST_F(CpuFollowerTest, ReportsCpusThatWentAndCame) {
  change({0, 1});
  events.clear();
  change({0, 1});
  EXPECT_THAT(events, IsEmpty());
  change({0, 2});
  EXPECT_THAT(events, ElementsAre("-1", "+2"));
  EXPECT_THAT(follower.notes(), ::testing::Contains("CPU 1 was switched off while fathom recorded"));
  EXPECT_THAT(follower.notes(), ::testing::Contains(HasSubstr("CPU 2 was switched on")));
}

TEST_F(CpuFollowerTest, WhoWentAndCameBetweenTwoLooksIsStartedAgain) {
  change({0, 1});
  events.clear();
  restarted = 1;
  change({0, 1});
  EXPECT_THAT(events, ElementsAre("-1", "+1"));
}

TEST_F(CpuFollowerTest, WhatCannotBeSampledIsANote) {
  refused = true;
  change({0});
  EXPECT_THAT(follower.notes(), ElementsAre(HasSubstr("could not be sampled: not allowed")));
  change({0});
  EXPECT_EQ(events.size(), 1u) << "it is not tried again each second";
}

TEST_F(CpuFollowerTest, LooksNeitherTooOftenNorAfterTheEnd) {
  int asked = 0;
  const auto look = [&](std::uint64_t now_ns) {
    follower.look(
        now_ns, [](int) {}, [](int) { return Result<>(); },
        [&](int) {
          ++asked;
          return false;
        });
  };
  follower.begin(0);
  look(999'999'999);
  EXPECT_EQ(asked, 0);
  look(1'000'000'000);
  EXPECT_GT(asked, 0);
  asked = 0;
  follower.end();
  look(5'000'000'000);
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace fathom::session
