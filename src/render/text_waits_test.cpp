#include "render/text_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/golden.h"
#include "profile/random_profile.h"
#include "render/text_table.h"
#include "report/hand_made_waits.h"

namespace fathom::render {
namespace {

using profile::Metric;
using report::make_report;
using testing::HasSubstr;
using testing::Not;

TEST(TextWaits, OfAServerThatWaits) {
  const profile::Profile profile = report::waiting_server();
  const auto report = make_report(profile, {.selection = {.metric = Metric::kOffCpu, .fold_idle = true},
                                            .sort = report::SortBy::kTotal})
                          .value();
  expect_golden("waits_off_cpu.txt", report_text(report, {.threads = true}));
}

TEST(TextWaits, InDetail) {
  const profile::Profile profile = report::waiting_server();
  const auto report = make_report(profile, {.selection = {.fold_idle = true}}).value();
  expect_golden("waits_detail.txt",
                report_text(report, {.width = 120, .waits = true, .locks = true, .files = true}));
}

TEST(TextWaits, AreShortInAReportOfCpuTime) {
  const profile::Profile profile = report::waiting_server();
  const auto report = make_report(profile, {}).value();
  const std::string text = report_text(report, {});
  EXPECT_THAT(text, HasSubstr("of the wall time of `engine` is blocked in page faults of `mdbx.dat`"));
  EXPECT_THAT(text, Not(HasSubstr("Waiting by cause")));
}

TEST(TextWaits, SayThatNobodyWaited) {
  report::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.wait(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), "nanosleep", 0, 5);
  const auto report = make_report(hand.profile, {.selection = {.metric = Metric::kOffCpu}}).value();
  const std::string text = report_text(report, {.locks = true, .files = true});
  EXPECT_THAT(text, HasSubstr("Locks: nobody waited at a futex"));
  EXPECT_THAT(text, HasSubstr("Files: nobody waited for one"));
}

TEST(TextWaits, OfAnyProfileHoldNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const profile::Profile profile = profile::random_profile(seed);
    if (profile.waits.empty()) continue;
    const auto report = make_report(profile, {.selection = {.metric = Metric::kOffCpu, .fold_idle = true}});
    ASSERT_TRUE(report) << "seed " << seed;
    for (const char c :
         report_text(*report, {.threads = true, .waits = true, .locks = true, .files = true})) {
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fathom::render
