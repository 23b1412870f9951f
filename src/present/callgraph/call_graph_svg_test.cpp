#include "present/callgraph/call_graph_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string svg_of(const model::Profile& profile, const CallGraphOptions& options = {}) {
  return write_call_graph_svg(call_graph_of(profile, options).value()).value();
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST(CallGraphSvg, HasABoxForEachFunctionAndAnArrowForEachCall) {
  const CallGraph graph = call_graph_of(analysis::small_server(), {}).value();
  const std::string svg = write_call_graph_svg(graph).value();
  EXPECT_EQ(count(svg, "<g class=\"b\">"), graph.functions.size());
  EXPECT_EQ(count(svg, "<g class=\"c\">"), graph.calls.size());
  EXPECT_EQ(count(svg, "class=\"p\""), graph.calls.size()) << "heads of arrows";
  EXPECT_THAT(svg, HasSubstr(">of 700 samples (77.8 %)</text>"));
  EXPECT_THAT(svg, HasSubstr(">900 samples · "));
  EXPECT_THAT(svg, testing::StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- fathom "))
      << "known as a picture of fathom, it is replaced the second time";
}

TEST(CallGraphSvg, WhatIsLeftOutIsSaid) {
  EXPECT_THAT(svg_of(analysis::small_server(), {.most_functions = 3}),
              HasSubstr("smaller functions and calls of less than 0.50 % are left out"));
}

TEST(CallGraphSvg, CommentsAreBelowTheTitle) {
  const std::string svg = svg_of(analysis::small_server(), {.comments = {"Quality: 3 < 4", "more"}});
  EXPECT_THAT(svg, HasSubstr("y=\"59\" font-size=\"11\">Quality: 3 &lt; 4</text>"));
  EXPECT_THAT(svg, HasSubstr("y=\"74\" font-size=\"11\">more</text>"));
}

TEST(CallGraphSvg, NamesCannotEndAnElement) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "a<b"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("m&<"), {"</title><script>\x1b"})}), 1);
  const std::string svg = svg_of(hand.profile);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("&lt;/title"));
  EXPECT_THAT(svg, HasSubstr("m&amp;&lt;"));
}

TEST(CallGraphSvg, AGraphThatNobodyCouldReadIsRefused) {
  CallGraph graph;
  graph.total = 1;
  graph.functions.resize(1001);
  const auto drawn = write_call_graph_svg(graph);
  ASSERT_FALSE(drawn);
  EXPECT_EQ(drawn.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(drawn.error().message, HasSubstr("1,001 functions"));
}

TEST(CallGraphSvg, AnyProfileIsDrawnOrRefused) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    for (const model::Metric metric : analysis::metrics_in(profile)) {
      CallGraphOptions options;
      options.selection.metric = metric;
      const Result<CallGraph> graph = call_graph_of(profile, options);
      if (!graph) continue;
      const Result<std::string> svg = write_call_graph_svg(*graph);
      ASSERT_TRUE(svg);
      EXPECT_THAT(*svg, testing::EndsWith("</g>\n</svg>\n"));
      EXPECT_THAT(*svg, Not(HasSubstr("nan")));
      EXPECT_THAT(*svg, Not(HasSubstr("inf\"")));
    }
  });
}

}  // namespace
}  // namespace fathom::present
