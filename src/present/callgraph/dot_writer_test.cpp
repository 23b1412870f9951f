#include "present/callgraph/dot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string dot_of(const model::Profile& profile, const CallGraphOptions& options = {}) {
  return write_dot(call_graph_of(profile, options).value());
}

TEST(DotWriter, FunctionsHaveSelfAndTotalAndCallsWhatGoesThroughThem) {
  const std::string dot = dot_of(analysis::small_server());
  EXPECT_THAT(dot, HasSubstr("label=\"main\\nof 700 samples (77.8 %)\""));
  EXPECT_THAT(dot, HasSubstr("label=\"ksys_write\\n100 samples (11.1 %)\""));
  EXPECT_THAT(dot, HasSubstr("CPU: 900 samples\\l"));
}

// walk calls itself: 300 samples in all, and not 300 for each time that it is on the stack.
TEST(DotWriter, WhatCallsItselfCountsOnce) {
  const std::string dot = dot_of(analysis::small_server());
  EXPECT_THAT(dot, HasSubstr("::walk\\n300 samples (33.3 %)\" tooltip"));
  EXPECT_THAT(dot, HasSubstr("\" 250 samples\" "));
}

TEST(DotWriter, CallsThroughOmittedNodesAreDashedAndTheOmissionIsReported) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(app, {"main"}), small = hand.frame(app, {"small"}),
             leaf = hand.frame(app, {"leaf"}), rare = hand.frame(app, {"rare"});
  hand.sample(thread, hand.stack({main, small, leaf}), 10);
  hand.sample(thread, hand.stack({main, leaf}), 90);
  hand.sample(thread, hand.stack({main, rare, leaf}), 1);
  const std::string dot = dot_of(hand.profile, {.least_share = 0.2});
  EXPECT_THAT(dot, HasSubstr("2 smaller functions and calls of less than 20.0 % are left out"));
  EXPECT_THAT(dot, Not(HasSubstr("small\\n")));
  EXPECT_THAT(dot, HasSubstr("f1 -> f0 [label=\" 101 samples\""));
  EXPECT_THAT(dot, Not(HasSubstr("dashed"))) << "somewhere main calls leaf itself";
  model::Profile without = hand.profile;
  std::erase_if(without.samples, [&](const model::Sample& row) {
    return row.stack == hand.stack({main, leaf});
  });
  EXPECT_THAT(dot_of(without, {.most_functions = 2}), HasSubstr("style=dashed"));
}

TEST(DotWriter, NamesCannotEndAText) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "a\"b"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("m\\\"od"), {"say(\"hi\\\")\n"})}), 1);
  EXPECT_THAT(dot_of(hand.profile), HasSubstr(R"(label="say(\"hi\\\")?\n1 sample)"));
  EXPECT_THAT(dot_of(hand.profile), HasSubstr(R"(tooltip="m\\\"od )"));
}

TEST(DotWriter, AnyProfileIsWrittenOrRefused) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    for (const model::Metric metric : analysis::metrics_in(profile)) {
      CallGraphOptions options;
      options.selection.metric = metric;
      const Result<CallGraph> graph = call_graph_of(profile, options);
      if (graph) {
        EXPECT_THAT(write_dot(*graph), testing::EndsWith("]\n}\n"));
      }
    }
  });
}

}  // namespace
}  // namespace fathom::present
