#include "analysis/summary/runtime_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/report.h"
#include "present/sentences/hot_spot_sentences.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

class RuntimeCosts : public testing::Test {
 protected:
  // Outermost first, below main().
  void sample(int count, const std::vector<std::string>& names) {
    std::vector<model::FrameId> chain{main_};
    for (const std::string& name : names)
      chain.push_back(hand_.frame(name.starts_with('_') || name.starts_with("std::") ? lib_ : app_, {name}));
    hand_.sample(thread_, hand_.stack(chain), count);
  }
  Report report() const { return make_report(hand_.profile, {}).value(); }
  std::string sentence() const { return present::sentence_of_runtime_costs(report()); }

  HandMade hand_;
  model::ModuleId app_ = hand_.module("app");
  model::ModuleId lib_ = hand_.module("libstdc++.so.6");
  model::ThreadId thread_ = hand_.thread(hand_.process(10, "app"), 10, "app");
  model::FrameId main_ = hand_.frame(app_, {"main"});
};

TEST_F(RuntimeCosts, EachSampleCountsOnceForTheOutermostWork) {
  sample(300, {"parse_field", "std::stoi", "__cxa_throw", "_Unwind_RaiseException", "_Unwind_Find_FDE"});
  sample(100, {"serve", "__cxa_throw", "uw_update_context"});
  sample(600, {"serve"});
  const std::vector<RuntimeCost> costs = find_runtime_costs(report().tree);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].words, "throwing exceptions");
  EXPECT_EQ(costs[0].value, 400);
  EXPECT_EQ(sentence(), "Throwing exceptions takes 40 % of CPU time.");
}

// The same inner functions print backtraces.
TEST_F(RuntimeCosts, ABacktraceThrowsNothing) {
  sample(500, {"log_call", "_Unwind_Backtrace", "uw_frame_state_for", "_Unwind_Find_FDE"});
  sample(500, {"serve"});
  EXPECT_EQ(sentence(), "Walking stacks takes 50 % of CPU time.");
}

TEST_F(RuntimeCosts, AreNotRepeatedAndNotMentionedIfSmall) {
  sample(500, {"gc_collect_main", "deduce_unreachable"});
  sample(400, {"serve"});
  sample(100, {"serve", "__cxa_throw"});
  EXPECT_THAT(present::sentence_of_hot_spot(report()), HasSubstr("(garbage collection)"));
  EXPECT_EQ(sentence(), "");
}

}  // namespace
}  // namespace fathom::analysis
