#include "cli/clock_time.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

namespace fathom::cli {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                        kDay = 24 * kHour;
// 2026-11-27 08:57:00 in UTC.
constexpr std::uint64_t kNow = 1'795'769'820 * kSecond;

class ClockTime : public testing::Test {
 protected:
  ClockTime() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~ClockTime() override {
    ::unsetenv("TZ");
    ::tzset();
  }
};

TEST_F(ClockTime, ATimeWithoutADateIsTheLastOne) {
  EXPECT_EQ(clock_time("08:57", kNow), kNow);
  EXPECT_EQ(clock_time("08:56:59", kNow), kNow - kSecond);
  EXPECT_EQ(clock_time("8:57", kNow), kNow);
  EXPECT_EQ(clock_time("08:58", kNow), kNow + kMinute - kDay);
  EXPECT_EQ(clock_time("yesterday 08:57", kNow), kNow - kDay);
  EXPECT_EQ(clock_time("now", kNow), kNow);
  EXPECT_EQ(clock_time("-10m", kNow), kNow - 10 * kMinute);
  EXPECT_EQ(clock_time("2026-11-26T08:57", kNow), kNow - kDay);
  EXPECT_EQ(clock_time("2026-11-26 08:57:00Z", kNow), kNow - kDay);
}

TEST_F(ClockTime, WithoutAZItIsLocal) {
  ::setenv("TZ", "XXX-2", 1);  // two hours ahead of UTC
  ::tzset();
  EXPECT_EQ(clock_time("10:57", kNow), kNow);
  EXPECT_EQ(clock_time("08:57Z", kNow), kNow);
  EXPECT_EQ(clock_time("2026-11-27T10:57", kNow), kNow);
}

TEST_F(ClockTime, OtherTextsAreNone) {
  for (const char* text : {"",
                           "10",
                           "10s",
                           "8",
                           ":",
                           "24:00",
                           "08:60",
                           "08:57:61",
                           "08:57x",
                           "08:57 ",
                           "x08:57",
                           "2026-13-01T00:00",
                           "2026-00-01T00:00",
                           "2026-11-27",
                           "2026-11-27T",
                           "-",
                           "-x",
                           "--5m",
                           "tomorrow 08:57",
                           "load",
                           "yesterday",
                           "yesterday 2026-11-27T08:57",
                           "-1:00"})
    EXPECT_FALSE(clock_time(text, kNow)) << text;
}

TEST_F(ClockTime, InARecordingItIsTheDayNextToIt) {
  // From 23:50 until 00:20 of the next day.
  const std::uint64_t midnight = kNow - kNow % kDay, start = midnight - 10 * kMinute,
                      end = midnight + 20 * kMinute;
  EXPECT_EQ(clock_time_in("23:55", start, end), midnight - 5 * kMinute);
  EXPECT_EQ(clock_time_in("00:05", start, end), midnight + 5 * kMinute);
  EXPECT_EQ(clock_time_in("00:25", start, end), midnight + 25 * kMinute)
      << "it ended before the time that is asked for";
  EXPECT_EQ(clock_time_in("23:45", start, end), midnight - 15 * kMinute);
  EXPECT_EQ(clock_time_in("-5m", start, end), end - 5 * kMinute);
  EXPECT_EQ(clock_time_in("now", start, end), end);
}

}  // namespace
}  // namespace fathom::cli
