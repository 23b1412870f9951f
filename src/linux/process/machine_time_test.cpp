#include "linux/process/machine_time.h"

#include <gtest/gtest.h>

#include "linux/process/status.h"

namespace fathom::process {
namespace {

TEST(MachineTime, IdleTimeAndWaitingForDisksAreNotBusy) {
  const auto time = parse_machine_time("cpu  100 20 30 5000 400 6 7 80 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(*time, (MachineTime{100 + 20 + 30 + 6 + 7 + 80, 80}));
}

TEST(MachineTime, WhatIsCutShortOrSomethingElseIsAnError) {
  for (const char* text :
       {"", "cpu", "cpu 1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu 1 2 3 4 5 6 7 x", "intr 1"})
    EXPECT_FALSE(parse_machine_time(text)) << text;
}

TEST(MachineTime, ShareIsOfTheBusyTimeInBetweenIfThatIsASecond) {
  const std::uint64_t second = ticks_per_second();
  EXPECT_DOUBLE_EQ(stolen_share({100, 10}, {100 + 2 * second, 10 + second / 2}).value(), 0.25);
  EXPECT_EQ(stolen_share({100, 10}, {100 + second, 10}), 0);
  EXPECT_EQ(stolen_share({100, 10}, {100 + second - 1, 11}), std::nullopt);
  EXPECT_EQ(stolen_share({100 + second, 60}, {100, 10}), std::nullopt);
  EXPECT_EQ(stolen_share({100, 60}, {100 + second, 10}), std::nullopt);
}

TEST(MachineTime, OfAllCpusWhatIsNotOursIsOthers) {
  const std::uint64_t second = ticks_per_second();
  // Of 4 s on two CPUs 5 s were busy, and 3 s of that are known.
  EXPECT_DOUBLE_EQ(others_share({100, 0}, {100 + 5 * second, 0}, 3, 8).value(), 0.25);
  EXPECT_EQ(others_share({100, 0}, {100 + second, 0}, 3, 8), 0) << "ticks are coarse";
  EXPECT_EQ(others_share({100, 0}, {100 + second, 0}, 0, 0.5), std::nullopt);
  EXPECT_EQ(others_share({100 + second, 0}, {100, 0}, 0, 8), std::nullopt);
}

TEST(MachineTime, ThisMachineHasOne) {
  const auto time = read_machine_time();
  ASSERT_TRUE(time);
  EXPECT_GT(time->busy_ticks, 0u);
  EXPECT_LE(time->stolen_ticks, time->busy_ticks);
}

}  // namespace
}  // namespace fathom::process
