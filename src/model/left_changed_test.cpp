#include "model/left_changed.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

TEST(LeftChanged, FactsGiveBackWhatWasPut) {
  Facts facts{{"end.12", "exit 0"}};
  const LeftChanged debugged{12, LeftChanged::Reason::kDebugger, 77, 8, 55, 220'000'000};
  const LeftChanged frozen{7, LeftChanged::Reason::kFrozen, 0, 0, 0, 4096};
  put_left_changed(debugged, facts);
  put_left_changed(frozen, facts);
  EXPECT_EQ(facts["left.12"], "debugger 77 8 55 220000000");
  EXPECT_EQ(left_changed_of(facts), (std::vector<LeftChanged>{frozen, debugged}));
}

TEST(LeftChanged, WhatMakesNoSenseIsLeftOut) {
  for (const char* text :
       {"", "debugger", "debugger 1 2 3", "magic 1 2 3 4", "frozen 0 x 0 0", "frozen 0 0 0 -1"})
    EXPECT_TRUE(left_changed_of({{"left.12", text}}).empty()) << text;
  EXPECT_TRUE(left_changed_of({{"left.x", "frozen 0 0 0 1"}}).empty());
}

TEST(LeftChanged, ImpossibleEventsAreOfTheirProcess) {
  Facts facts;
  put_impossible_events(12, 0, facts);
  EXPECT_TRUE(facts.empty());
  put_impossible_events(12, 5, facts);
  EXPECT_EQ(impossible_events_of(12, facts), 5u);
  EXPECT_EQ(impossible_events_of(13, facts), 0u);
}

}  // namespace
}  // namespace fathom::model
