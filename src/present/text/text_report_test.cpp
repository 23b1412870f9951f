#include "present/text/text_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::make_report;
using analysis::ReportOptions;
using analysis::Section;

TEST(TextReport, OfTheSmallServer) {
  const model::Profile profile = analysis::small_server();
  const auto report = make_report(profile, {}).value();
  expect_golden("small_server.txt",
                report_text(report, {.sections = {Section::kThreads, Section::kModules}}));
}

TEST(TextReport, OfCallersAndCallees) {
  const model::Profile profile = analysis::small_server();
  ReportOptions options;
  options.callers = {"/walk/"};
  options.callees = {"main"};
  const auto report = make_report(profile, options).value();
  expect_golden("callers.txt", report_text(report, {.width = 80}));
}

TEST(TextReport, OfAnEmptyRecording) {
  analysis::HandMade hand;
  hand.thread(hand.process(1, "app"), 1, "app");
  const auto report = make_report(hand.profile, {}).value();
  expect_golden("empty.txt", report_text(report, {}));
}

TEST(TextReport, OfWaitsShowsTimes) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  hand.sample(thread, hand.stack({hand.frame(app, {"wait"})}), 40, 0, model::Metric::kOffCpu, 2'500'000);
  hand.sample(thread, hand.stack({hand.frame(app, {"read"})}), 2, 0, model::Metric::kOffCpu, 40'000'000);
  const auto report = make_report(hand.profile, {.selection = {.metric = model::Metric::kOffCpu}}).value();
  expect_golden("off_cpu.txt", report_text(report, {}));
}

TEST(TextReport, NoLineIsLongerThanTheTerminal) {
  const model::Profile profile = analysis::small_server();
  const auto report = make_report(profile, {}).value();
  const std::string text =
      report_text(report, {.width = 90, .sections = {Section::kThreads, Section::kModules}});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(display_width(std::string_view(text).substr(at, end - at)), 90u) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(TextReport, SaysWhatTheHostTookAwayIfItIsWorthALine) {
  model::Profile profile = analysis::small_server();
  const auto text = [&](const char* percent) {
    profile.meta.facts["stolen_percent"] = percent;
    return report_text(make_report(profile, {}).value(), {});
  };
  EXPECT_THAT(text("0.9"), testing::Not(testing::HasSubstr("machine ")));
  EXPECT_THAT(text("1.0"), testing::HasSubstr("machine   the host took 1.0 % of the CPUs' busy time away"));
}

TEST(TextReport, SaysWhatTheLimitCutOff) {
  const model::Profile profile = analysis::small_server();
  const auto report = make_report(profile, {}).value();
  EXPECT_THAT(report_text(report, {.top = 3}), testing::HasSubstr("Functions by self, 3 of 10"));
}

// Every text of it commands terminals: ESC [ and its one-character form, a line of its own, letters from right to left.
model::Profile with_hostile_texts(model::Profile profile) {
  model::StringTable texts;
  for (std::uint32_t i = 1; i < profile.strings.size(); ++i)
    texts.intern(std::string(profile.strings[model::StringId{i}]) +
                 "\x1b[31m\xc2\x9b"
                 "2J\n\u202e\x7f");
  profile.strings = std::move(texts);
  profile.meta.target += "\x1b[31m\n";
  profile.meta.event += "\x1b[31m";
  for (auto& [key, value] : profile.meta.facts) value += "\x1b[31m\n";
  profile.quality.notes.push_back("of \x1b[31m\r");
  return profile;
}

TEST(TextReport, OfAnyProfileCommandsNoTerminal) {
  std::size_t hostile = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const model::Profile profile = with_hostile_texts(model::random_profile(seed));
    const auto report = make_report(profile, {.selection = {.metric = analysis::default_metric(profile)},
                                              .tree = analysis::TreeDirection::kCallees});
    ASSERT_TRUE(report) << "seed " << seed;
    for (const Layout layout : {Layout::kFirstScreen, Layout::kAsked, Layout::kAll}) {
      const std::string text = report_text(
          *report, {.layout = layout,
                    .sections = {Section::kFunctions, Section::kTree, Section::kSeries, Section::kThreads,
                                 Section::kModules, Section::kWaits, Section::kLocks, Section::kHeap,
                                 Section::kBlocks, Section::kMemory, Section::kFiles}});
      for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        ASSERT_TRUE(byte == '\n' || (byte >= 0x20 && byte != 0x7F))
            << "seed " << seed << ": " << text.substr(i < 80 ? 0 : i - 80, 90);
      }
      ASSERT_EQ(text.find("\xc2\x9b"), text.npos) << "seed " << seed;
      ASSERT_EQ(text.find("\u202e"), text.npos) << "seed " << seed;
      hostile += text.find("?[31m") != text.npos ? 1 : 0;
    }
  }
  EXPECT_GT(hostile, 40u) << "the texts are shown";
}

}  // namespace
}  // namespace fathom::present
