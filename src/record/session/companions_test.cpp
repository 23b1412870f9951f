#include "record/session/companions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "record/session/testing_lent.h"

namespace fathom::session {
namespace {

// Writes down each of its calls, with its name.
struct Writing final : Companion {
  Writing(std::string own_name, std::vector<std::string>& all_calls)
      : name(std::move(own_name)), calls(all_calls) {}
  void before_events(const Lent&, std::uint64_t now_ns) override {
    calls.push_back(name + " events " + std::to_string(now_ns));
  }
  void step(const Lent& lent, std::uint64_t now_ns) override {
    calls.push_back(name + " step " + std::to_string(now_ns));
    if (act) act(lent);
  }
  Save before_save(const Lent& lent, bool last) override {
    calls.push_back(name + (last ? " last save of " : " save of ") +
                    std::to_string(lent.profile.samples.size()));
    if (way == Save::kKept) lent.profile.samples.clear();
    return way;
  }

  std::string name;
  std::vector<std::string>& calls;
  Save way = Save::kAppend;
  std::function<void(const Lent&)> act;
};

struct CompanionsTest : testing::Test {
  void begin() {
    companions.begin(profile, builder, lender.processes(), lender.stacks(),
                     [this] { calls.emplace_back("kept"); });
  }

  std::vector<std::string> calls;
  Writing first{"a", calls}, second{"b", calls};
  Companions companions{{&first, &second}};
  model::Profile profile;
  model::Builder builder{profile};
  TestingLent lender{profile, builder};
};

TEST_F(CompanionsTest, AreCalledInTheirOrderOnceItRecords) {
  companions.before_events(1);
  companions.step(1);
  EXPECT_EQ(companions.before_save(false), Companion::Save::kAppend);
  EXPECT_THAT(calls, testing::IsEmpty());
  begin();
  companions.before_events(2);
  companions.step(3);
  (void)companions.before_save(true);
  EXPECT_THAT(calls, testing::ElementsAre("a events 2", "b events 2", "a step 3", "b step 3",
                                          "a last save of 0", "b last save of 0"));
}

TEST_F(CompanionsTest, TheFirstSeesRowsThatTheLastKeeps) {
  second.way = Companion::Save::kKept;
  begin();
  profile.samples.resize(3);
  EXPECT_EQ(companions.before_save(false), Companion::Save::kKept);
  EXPECT_THAT(calls, testing::ElementsAre("a save of 3", "b save of 3"));
  second.way = Companion::Save::kAnew;
  EXPECT_EQ(companions.before_save(true), Companion::Save::kAnew);
}

// A companion releases what it held for a reading once, and not before the reading.
TEST_F(CompanionsTest, WhatWaitsForReadingsIsCalledOnce) {
  first.act = [this](const Companion::Lent& lent) {
    lent.keep_now();
    lent.after_readings([this] { calls.emplace_back("released"); });
  };
  begin();
  companions.step(1);
  EXPECT_THAT(calls, testing::ElementsAre("a step 1", "kept", "b step 1"));
  companions.readings_taken();
  companions.readings_taken();
  EXPECT_THAT(calls, testing::ElementsAre("a step 1", "kept", "b step 1", "released"));
}

TEST_F(CompanionsTest, OneOfThemEndsTheRecording) {
  second.act = [](const Companion::Lent& lent) { lent.end_recording(); };
  begin();
  EXPECT_FALSE(companions.enough());
  companions.step(1);
  EXPECT_TRUE(companions.enough());
}

}  // namespace
}  // namespace fathom::session
