#include "cli/seconds_word.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

std::string turned(std::string text) {
  EXPECT_EQ(seconds_word()(text), "");
  return text;
}

TEST(SecondsWord, UnitsAreTurnedIntoSeconds) {
  EXPECT_EQ(turned("10s"), "10");
  EXPECT_EQ(turned("500ms"), "0.5");
  EXPECT_EQ(turned("250us"), "0.00025");
  EXPECT_EQ(turned("2m"), "120");
  EXPECT_EQ(turned("1.5min"), "90");
  EXPECT_EQ(turned("1h"), "3600");
  EXPECT_EQ(turned("2d"), "172800");
}

TEST(SecondsWord, WhatIsNoTimeIsLeftToTheOption) {
  for (const char* text : {"10", "0.5", "", "s", "10 s", "10x", "10ss", "1e3", "-1s", "ten"})
    EXPECT_EQ(turned(text), text);
}

TEST(SecondsWord, NotANumberAndWhatNothingLastsForAreRefused) {
  for (std::string text : {"nan", "NAN", "inf", "-inf", "nans", "infh", "1e99", "1e999", "-1e10"})
    EXPECT_NE(seconds_word()(text), "");
}

TEST(SecondsWord, ComesBeforeTheChecksOfTheOption) {
  CLI::App app;
  double interval_s = 1;
  app.add_option("--interval", interval_s)->check(CLI::Range(0.1, 100.0))->transform(seconds_word());
  app.parse("--interval 1m", false);
  EXPECT_EQ(interval_s, 60);
  EXPECT_THROW(app.parse("--interval 10ms", false), CLI::ValidationError);
  EXPECT_THROW(app.parse("--interval 1h", false), CLI::ValidationError);
}

}  // namespace
}  // namespace fathom::cli
