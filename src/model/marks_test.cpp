#include "model/marks.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

std::vector<Phase> phases(const std::string& marks, const std::string& flight = "") {
  Profile profile;
  if (!marks.empty()) profile.meta.facts[kMarksFact] = marks;
  if (!flight.empty()) profile.meta.facts["flight_marks"] = flight;
  return phases_of(profile);
}

TEST(Marks, APhaseGoesFromItsMarkToTheNextOne) {
  const auto found = phases(mark_line(0.5, "startup") + "\n" + mark_line(12.25, "load") + "\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "startup");
  EXPECT_EQ(found[0].from_s, 0.5);
  EXPECT_EQ(found[0].to_s, 12.25);
  EXPECT_EQ(found[1].name, "load");
  EXPECT_EQ(found[1].to_s, std::nullopt) << "to the end";
}

TEST(Marks, TriggersOfTheFlightRecorderAreMarksToo) {
  const auto found = phases("3.000 s: load\n", "1.5 s: it grows\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "it grows");
  EXPECT_EQ(found[0].to_s, 3.0);
}

TEST(Marks, WhatIsNoMarkIsLeftOut) {
  EXPECT_TRUE(phases("").empty());
  EXPECT_TRUE(phases("load\n-1 s: early\nnan s: x\n1e300 s: late\n5 s: \n5\n\n:").empty());
  EXPECT_EQ(phases("2 s: without an end").size(), 1u);
}

TEST(Marks, AFileThatIsFullOfThemIsBounded) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "1 s: x\n";
  EXPECT_EQ(phases(many).size(), 10'000u);
}

}  // namespace
}  // namespace fathom::model
