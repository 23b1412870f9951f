#include "record/session/own_cost.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(OwnCost, BeforeTheRecordingAllIsStart) {
  EXPECT_EQ(OwnCost().parts({80 * kMs, 0}), (OwnCost::Parts{80 * kMs, 0, 0}));
}

TEST(OwnCost, WhileItIsRecordedTheStartStaysAndNamingIsApart) {
  OwnCost cost;
  cost.begun({100 * kMs, 10 * kMs});
  EXPECT_EQ(cost.parts({150 * kMs, 40 * kMs}), (OwnCost::Parts{90 * kMs, 20 * kMs, 40 * kMs}));
}

TEST(OwnCost, WhatCompletesTheFileIsNoCostOfRecording) {
  OwnCost cost;
  cost.begun({100 * kMs, 10 * kMs});
  cost.ended({200 * kMs, 60 * kMs});
  EXPECT_EQ(cost.parts({500 * kMs, 300 * kMs}), (OwnCost::Parts{90 * kMs, 50 * kMs, 300 * kMs}));
}

TEST(OwnCost, ClocksThatAreReadOneAfterTheOtherGiveNoNegativeTime) {
  OwnCost cost;
  cost.begun({100 * kMs, 10 * kMs});
  EXPECT_EQ(cost.parts({150 * kMs, 155 * kMs}), (OwnCost::Parts{90 * kMs, 0, 155 * kMs}));
}

TEST(OwnCost, IsStoredAsFactsInMicroseconds) {
  std::map<std::string, std::string> facts;
  tell({1'500'000, 2'000'999, 0}, facts);
  EXPECT_EQ(facts.at("own_start_us"), "1500");
  EXPECT_EQ(facts.at("own_recording_us"), "2000");
  EXPECT_EQ(facts.at("own_naming_us"), "0");
}

}  // namespace
}  // namespace fathom::session
