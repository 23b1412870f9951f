#include "cli/time_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/marks.h"

namespace fathom::cli {
namespace {

using testing::HasSubstr;

TimeArgument parsed(const std::string& word) {
  CLI::App app;
  TimeArgument argument;
  add_time_option(app, "--from", argument, "");
  app.parse(std::vector<std::string>{"--from=" + word});
  return argument;
}

model::Profile with_marks() {
  model::Profile profile;
  profile.meta.end_ns = 60'000'000'000;
  profile.meta.facts[model::kMarksFact] = model::mark_line(5, "warm-up") + "\n" +
                                          model::mark_line(20, "load") + "\n" +
                                          model::mark_line(40, "warm-up") + "\n";
  return profile;
}

TEST(TimeOption, ReadsTimesWithAndWithoutAUnit) {
  EXPECT_EQ(parsed("10").seconds, 10);
  EXPECT_EQ(parsed("0.5").seconds, 0.5);
  EXPECT_EQ(parsed("500ms").seconds, 0.5);
  EXPECT_EQ(parsed("2min").seconds, 120);
  for (const char* word : {"10", "500ms"}) EXPECT_EQ(parsed(word).mark, "");
}

TEST(TimeOption, WhatIsNoTimeIsAMark) {
  for (const char* word : {"load", "10 users", "nan", "3x"}) {
    EXPECT_EQ(parsed(word).mark, word);
    EXPECT_FALSE(parsed(word).seconds);
    EXPECT_TRUE(parsed(word).given());
  }
  EXPECT_FALSE(TimeArgument().given());
}

TEST(TimeOption, TimesOutOfRangeAreRefused) {
  for (const char* word : {"-1", "1e10"}) EXPECT_THROW(parsed(word), CLI::ValidationError) << word;
}

TEST(TimeOption, AMarkIsTheTimeOfTheFirstOneOfItsName) {
  const model::Profile profile = with_marks();
  EXPECT_EQ(seconds_of(parsed("warm-up"), profile, "--from").value(), 5);
  EXPECT_EQ(seconds_of(parsed("load"), profile, "--from").value(), 20);
  EXPECT_EQ(seconds_of(parsed("warm-up"), profile, "--until", 20).value(), 40) << "the next one after a time";
  EXPECT_EQ(seconds_of(parsed("7"), profile, "--from").value(), 7);
  EXPECT_EQ(seconds_of({}, profile, "--from").value(), std::nullopt);
}

TEST(TimeOption, AnUnknownMarkNamesThoseThereAre) {
  const Error error = seconds_of(parsed("idle\x1b"), with_marks(), "--from").error();
  EXPECT_EQ(error.kind, ErrorKind::kUsage);
  EXPECT_EQ(error.message, "--from 'idle?': neither a time nor a mark of the recording");
  EXPECT_EQ(error.remedy, "one of the marks 'warm-up', 'load'; or a time: --from 10");
  EXPECT_THAT(seconds_of(parsed("idle"), {}, "--from").error().remedy, HasSubstr("record --marks"));
  EXPECT_THAT(seconds_of(parsed("load"), with_marks(), "--until", 30).error().message,
              HasSubstr(" after 30 s"));
}

}  // namespace
}  // namespace fathom::cli
