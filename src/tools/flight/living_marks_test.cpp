#include "tools/flight/living_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/core/hand_made_profile.h"
#include "tools/flight/death.h"

namespace fathom::flight {
namespace {

TEST(LivingMarks, StandAfterTheHeadlineNewestLast) {
  analysis::HandMade hand;
  EXPECT_EQ(with_marks("node\n\nrest\n", hand.profile, 80), "node\n\nrest\n") << "none";
  hand.profile.meta.facts[kMarksFact] = "2.0 s: resident memory grew\n4.5 s: 95 % of the limit\n";
  EXPECT_EQ(
      with_marks("node\n\nrest\n", hand.profile, 80),
      "node\n\nMarks of the flight recorder:\n  2.0 s: resident memory grew\n  4.5 s: 95 % of the limit\n"
      "\nrest\n");
  nlohmann::ordered_json json;
  add_marks(json, hand.profile);
  EXPECT_EQ(json["flight_marks"].size(), 2u);
}

TEST(LivingMarks, AreTheLastOfThoseThatWereMade) {
  analysis::HandMade hand;
  std::string& lines = hand.profile.meta.facts[kMarksFact];
  for (int i = 0; i < 8; ++i) lines += std::to_string(i) + ".0 s: \x1b[31mtext\n";
  hand.profile.meta.facts[kEarlierMarksFact] = "100";
  const std::string text = with_marks("node", hand.profile, 80);
  EXPECT_THAT(text, testing::StartsWith("node\nMarks of the flight recorder, the last of 108:\n  3.0 s: "));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace fathom::flight
