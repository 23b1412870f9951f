#include "present/text/text_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

std::string tree_of(const model::Profile& profile, analysis::TreeDirection direction,
                    std::size_t width = 100) {
  analysis::ReportOptions options;
  options.selection.metric = analysis::default_metric(profile);
  options.tree = direction;
  const auto report = make_report(profile, options);
  return report ? call_tree_text(*report, {.width = width}) : "";
}

TEST(TextCalls, OfTheSmallServer) {
  const model::Profile profile = analysis::small_server();
  expect_golden("call_tree.txt", tree_of(profile, analysis::TreeDirection::kCallees) +
                                     tree_of(profile, analysis::TreeDirection::kCallers, 60));
}

// A pipe is read by programs, and by people who search: no name is cut there.
TEST(TextCalls, WithoutAWidthNamesAreWhole) {
  EXPECT_THAT(tree_of(analysis::small_server(), analysis::TreeDirection::kCallees, 0),
              testing::AllOf(
                  testing::HasSubstr("server::pool::Worker::run(std::sync::Arc<server::pool::Queue>, bool)"),
                  testing::Not(testing::HasSubstr("…"))));
}

TEST(TextCalls, SaysWhereEachFunctionStands) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto app = hand.module("x");
  const auto frame = hand.builder.frame(app, ElfAddress{0x20});
  hand.builder.name_frame(frame, {{"Parser::line(char const*)", "/src/parser.cpp", 24}});
  hand.sample(thread, hand.stack({frame}), 10);
  EXPECT_THAT(tree_of(hand.profile, analysis::TreeDirection::kCallees),
              testing::HasSubstr("\n   100 %   100 %  Parser::line  parser.cpp:24\n"));
}

TEST(TextCalls, FitsTheTerminalWithAnyContent) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    for (const auto direction : {analysis::TreeDirection::kCallees, analysis::TreeDirection::kCallers}) {
      const std::string text = tree_of(profile, direction);
      for (std::size_t at = text.find('\n', 1) + 1; at < text.size();) {  // below the heading
        const std::size_t end = text.find('\n', at);
        EXPECT_LE(display_width(std::string_view(text).substr(at, end - at)), 100u)
            << seed << text.substr(at, end - at);
        at = end + 1;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::present
