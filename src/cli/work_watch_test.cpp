#include "cli/work_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fathom::cli {
namespace {

constexpr std::uint64_t kOneSecond = 1'000'000'000;

WorkRates rates(const std::vector<double>& per_second) {
  WorkRates rates;
  double counter = 7;
  for (std::size_t i = 0; i <= per_second.size(); ++i) {
    rates.add(i * kOneSecond, counter);
    if (i < per_second.size()) counter += per_second[i];
  }
  return rates;
}

TEST(WorkWatch, WhatVariesByItselfIsNotSlower) {
  const auto change = change_of_work(rates({100, 110, 90, 105, 95, 100}), rates({98, 108, 92, 96, 104, 98}));
  ASSERT_TRUE(change);
  EXPECT_NEAR(change->base, 100, 0.01);
  EXPECT_FALSE(change->beyond_noise);
  EXPECT_THAT(sentence_of_work("requests", change), testing::HasSubstr("no difference beyond"));
}

TEST(WorkWatch, SlowerWorkIsReported) {
  const auto change = change_of_work(rates({100, 101, 99, 100, 101, 99}), rates({80, 81, 79, 80, 81, 79}));
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->beyond_noise);
  EXPECT_THAT(sentence_of_work("requests", change), testing::HasSubstr("(-20.0 % ±"));
  EXPECT_THAT(sentence_of_work("requests", change), testing::HasSubstr(": slower"));
}

TEST(WorkWatch, TooLittleIsNotKnown) {
  EXPECT_EQ(change_of_work(rates({100, 100, 100, 100}), rates({1, 1, 1, 1, 1, 1})), std::nullopt);
  EXPECT_THAT(sentence_of_work("requests", std::nullopt), testing::HasSubstr("is not known"));
  EXPECT_THAT(sentence_of_work("requests", change_of_work(rates({0, 0, 0, 0, 0}), rates({1, 1, 1, 1, 1}))),
              testing::HasSubstr("it did no requests before"));
}

TEST(WorkWatch, ACounterThatStartsOverSkipsThatStep) {
  WorkRates again;
  again.add(1 * kOneSecond, 100);
  again.add(2 * kOneSecond, 200);
  again.add(3 * kOneSecond, 5);
  again.add(4 * kOneSecond, 105);
  EXPECT_THAT(again.steps(), testing::ElementsAre(100'000, 100'000));
}

TEST(WorkWatch, CallsOfAProcessAreCounted) {
  auto watch = WorkWatch::start({::getpid()}, "", "");
  ASSERT_TRUE(watch);
  const auto before = watch->read(1);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(::write(ends[1], "x", 1), 1);
  const auto after = watch->read(2);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_TRUE(before && after);
  EXPECT_GE(after->value - before->value, 50);
  EXPECT_EQ(WorkWatch::start({}, "", "").error().kind, ErrorKind::kPermission);
}

}  // namespace
}  // namespace fathom::cli
