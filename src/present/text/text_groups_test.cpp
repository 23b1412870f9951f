#include "present/text/text_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "base/golden.h"

namespace fathom::present {
namespace {

std::string groups_of(const model::Profile& profile, analysis::GroupBy by, analysis::SortBy sort,
                      const TextOptions& style = {}) {
  analysis::ReportOptions options;
  options.group_by = by;
  options.sort = sort;
  const auto report = make_report(profile, options);
  return groups_text(report.value(), style);
}

TEST(TextGroups, OfTheSmallServer) {
  const model::Profile profile = analysis::small_server();
  std::string text;
  for (const auto by : {analysis::GroupBy::kCrate, analysis::GroupBy::kModule, analysis::GroupBy::kThread})
    text += groups_of(profile, by, analysis::SortBy::kSelf);
  expect_golden("groups.txt", text + groups_of(profile, analysis::GroupBy::kFile, analysis::SortBy::kTotal));
}

TEST(TextGroups, LinesNameTheirFunction) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto frame = hand.builder.frame(hand.module("x"), ElfAddress{0x20});
  hand.builder.name_frame(frame, {{"int Parser::line(char const*)", "/src/app/parser.cpp", 24}});
  hand.sample(thread, hand.stack({frame}), 400);
  EXPECT_THAT(groups_of(hand.profile, analysis::GroupBy::kProcess, analysis::SortBy::kSelf),
              testing::HasSubstr("\nProcesses by self"));
  EXPECT_THAT(groups_of(hand.profile, analysis::GroupBy::kLine, analysis::SortBy::kSelf),
              testing::HasSubstr("app/parser.cpp:24  Parser::line\n"));
}

TEST(TextGroups, SmallGroupsAreLeftOutAndCounted) {
  TextOptions style;
  style.least_share = 0.2;
  EXPECT_THAT(groups_of(analysis::small_server(), analysis::GroupBy::kModule, analysis::SortBy::kSelf, style),
              testing::AllOf(testing::HasSubstr("Modules by self, 2 of 4"), testing::HasSubstr("libcodec"),
                             testing::Not(testing::HasSubstr("[kernel]"))));
}

}  // namespace
}  // namespace fathom::present
