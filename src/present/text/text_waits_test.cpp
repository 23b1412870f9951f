#include "present/text/text_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/waits/hand_made_waits.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::make_report;
using analysis::Section;
using model::Metric;
using testing::HasSubstr;
using testing::Not;

TEST(TextWaits, OfAServerThatWaits) {
  const model::Profile profile = analysis::waiting_server();
  const auto report = make_report(profile, {.selection = {.metric = Metric::kOffCpu, .fold_idle = true},
                                            .sort = analysis::SortBy::kTotal})
                          .value();
  expect_golden("waits_off_cpu.txt", report_text(report, {.sections = {Section::kThreads}}));
}

TEST(TextWaits, InDetail) {
  const model::Profile profile = analysis::waiting_server();
  const auto report = make_report(profile, {.selection = {.fold_idle = true}}).value();
  expect_golden(
      "waits_detail.txt",
      report_text(report, {.width = 120, .sections = {Section::kWaits, Section::kLocks, Section::kFiles}}));
}

// The clock's times are those of the whole recording: next to a window's samples they would exceed the window.
TEST(TextWaits, OfAWindowHaveNoTimesOfTheWholeRecording) {
  const model::Profile profile = analysis::waiting_server();
  analysis::Selection window;
  const auto text_of = [&] {
    return report_text(make_report(profile, {.selection = window}).value(),
                       {.layout = Layout::kAsked, .width = 140, .sections = {Section::kThreads}});
  };
  EXPECT_THAT(text_of(), HasSubstr("exact CPU"));
  EXPECT_THAT(text_of(), HasSubstr("run queue"));
  window.to_ns = 5'000'000'000;
  EXPECT_THAT(text_of(), HasSubstr("Threads"));
  EXPECT_THAT(text_of(), Not(HasSubstr("exact CPU")));
  EXPECT_THAT(text_of(), Not(HasSubstr("run queue")));
}

TEST(TextWaits, AreShortInAReportOfCpuTime) {
  const model::Profile profile = analysis::waiting_server();
  const auto report = make_report(profile, {}).value();
  const std::string text = report_text(report, {});
  EXPECT_THAT(text, HasSubstr("of the wall time of `engine` is blocked in page faults of `mdbx.dat`"));
  EXPECT_THAT(text, Not(HasSubstr("Waiting by cause")));
}

TEST(TextWaits, ReportThatNoThreadWaited) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.wait(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), "nanosleep", 0, 5);
  const auto report = make_report(hand.profile, {.selection = {.metric = Metric::kOffCpu}}).value();
  const std::string text = report_text(report, {.sections = {Section::kLocks, Section::kFiles}});
  EXPECT_THAT(text, HasSubstr("Locks: no thread waited for one, except idle threads"));
  EXPECT_THAT(text, HasSubstr("Files: no thread waited for one"));
}

TEST(TextWaits, ReportThatALockOfParkersIsIdentifiedByItsPlace) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  const auto locked = hand.stack({hand.frame(app, {"app::Table::get"}),
                                  hand.frame(app, {"parking_lot::raw_mutex::RawMutex::lock_slow"})});
  const auto shown = [&] {
    const auto report = make_report(hand.profile, {.selection = {.metric = Metric::kOffCpu}}).value();
    return report_text(report, {.width = 200, .sections = {Section::kLocks}});
  };
  hand.wait(thread, hand.stack({hand.frame(app, {"pthread_mutex_lock"})}), "futex", 1, 5, 0,
            hand.object(model::ObjectKind::kFutex, "", 0x1000));
  EXPECT_THAT(
      shown(),
      Not(HasSubstr(
          "these threads waited on their own parking futex (parking_lot, std::thread::park, PostgreSQL). Which lock they waited for is unknown, so several locks of one function share a row.")));
  hand.wait(thread, locked, "futex", 2, 5, 0, hand.object(model::ObjectKind::kFutex, "", 0x2000));
  EXPECT_THAT(
      shown(),
      HasSubstr(
          "these threads waited on their own parking futex (parking_lot, std::thread::park, PostgreSQL). Which lock they waited for is unknown, so several locks of one function share a row."));
}

// 40 waits that were walked stand for 1,747 each: "69,880 waits" are known to 70,000 ±20,000.
TEST(TextWaits, HaveNoMoreDigitsThanTheirError) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"serve"})});
  for (int i = 0; i < 40; ++i) hand.wait(thread, stack, "nanosleep", 0.2 * i, 1 + 0.01 * i).weight = 1747;
  const auto report = make_report(hand.profile, {.selection = {.metric = Metric::kOffCpu}}).value();
  const std::string text = report_text(report, {.sections = {Section::kWaits}});
  EXPECT_THAT(text, HasSubstr("70,000")) << text;
  EXPECT_THAT(text, Not(HasSubstr("69,880"))) << text;
}

TEST(TextWaits, OfAnyProfileHoldNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.waits.empty()) continue;
    const auto report = make_report(profile, {.selection = {.metric = Metric::kOffCpu, .fold_idle = true}});
    ASSERT_TRUE(report) << "seed " << seed;
    for (const char c : report_text(
             *report, {.sections = {Section::kThreads, Section::kWaits, Section::kLocks, Section::kFiles}})) {
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fathom::present
