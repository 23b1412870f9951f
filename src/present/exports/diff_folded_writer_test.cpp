#include "present/exports/diff_folded_writer.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::present {
namespace {

analysis::DiffReport compare(const model::Profile& base, const model::Profile& fresh) {
  analysis::DiffRun a, b;
  a.profile = &base;
  b.profile = &fresh;
  return analysis::make_diff({a}, {b}, {}).value();
}

model::Profile program(const std::string& name, int samples, int seconds) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  hand.sample(thread, hand.stack({hand.frame(app, {"main"}), hand.frame(app, {name})}), samples);
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(seconds) * 1'000'000'000;
  return std::move(hand.profile);
}

TEST(DiffFolded, HasBaseThenNewAndWhatIsGone) {
  EXPECT_EQ(write_diff_folded(compare(program("old;one", 100, 10), program("new\none", 50, 10))),
            "app;main;new one 0 50\napp;main;old:one 100 0\n");
}

TEST(DiffFolded, BringsNewToTheMeasureOfBase) {
  EXPECT_EQ(write_diff_folded(compare(program("f", 100, 10), program("f", 200, 20))), "app;main;f 100 100\n");
}

TEST(DiffFolded, AFunctionThatIsCalledAndOneThatCallsAreTwoLines) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto main = hand.frame(app, {"main"});
  hand.sample(thread, hand.stack({main}), 3);
  hand.sample(thread, hand.stack({main, hand.frame(app, {"f"})}), 4, 1);
  EXPECT_EQ(write_diff_folded(compare(hand.profile, hand.profile)), "app;main 3 3\napp;main;f 4 4\n");
}

}  // namespace
}  // namespace fathom::present
