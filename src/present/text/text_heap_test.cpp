#include "present/text/text_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "base/golden.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using analysis::make_report;
using analysis::Section;
using model::Metric;

TEST(TextHeap, OfAServer) {
  const model::Profile profile = analysis::small_heap().profile;
  const auto report = make_report(profile, {.selection = {.metric = Metric::kHeapLive}}).value();
  expect_golden("heap.txt", report_text(report, {.sections = {Section::kThreads, Section::kHeap}}));
}

// Its own columns are of live blocks, whatever the metric is.
TEST(TextHeap, ATableOfAnotherKindStandsAlone) {
  const model::Profile profile = analysis::small_heap().profile;
  const auto report = make_report(profile, {.selection = {.metric = Metric::kHeapGrowth}}).value();
  for (const Section table : {Section::kThreads, Section::kModules, Section::kTree}) {
    TextOptions options{.layout = Layout::kAsked, .sections = {table}};
    EXPECT_THAT(report_text(report, options), testing::Not(testing::HasSubstr("most live first")));
    options.sections.add(Section::kHeap);
    EXPECT_THAT(report_text(report, options), testing::HasSubstr("most live first"));
  }
  EXPECT_THAT(report_text(report, {.layout = Layout::kAsked}), testing::HasSubstr("most live first"));
}

TEST(TextHeap, OfAProgramThatReportedItByItsOwnProbes) {
  analysis::HandMadeHeap hand = analysis::small_heap(model::HeapMode::kSampled);
  for (model::HeapHook& hook : hand.profile.heap.hooks) hook.kind = model::HookKind::kProbe;
  const auto text_of = [&] {
    const auto report = make_report(hand.profile, {.selection = {.metric = Metric::kHeapAllocated}}).value();
    return report_text(report, {.width = 200, .sections = {Section::kHeap}});
  };
  EXPECT_THAT(text_of(), testing::HasSubstr("The heap data comes from the program's own otel_memory probes"));
  EXPECT_THAT(text_of(), testing::HasSubstr("The heap data comes from the program's own otel_memory probes"));
  EXPECT_THAT(text_of(), testing::Not(testing::HasSubstr("by entry")));
  // In another process of the recording the tracer was.
  hand.profile.heap.hooks[0].kind = model::HookKind::kEntry;
  EXPECT_THAT(text_of(), testing::Not(testing::HasSubstr("The heap is told by the program's own")));
}

TEST(TextHeap, OfAServerThatWasSampled) {
  const model::Profile profile = analysis::small_heap(model::HeapMode::kSampled).profile;
  const auto report = make_report(profile, {.selection = {.metric = Metric::kHeapAllocated}}).value();
  expect_golden("heap_sampled.txt", report_text(report, {.width = 120}));
}

TEST(TextHeap, OfAnyProfileHoldsNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    for (const Metric metric : {Metric::kHeapLive, Metric::kHeapPeak, Metric::kHeapGrowth}) {
      const auto report = make_report(profile, {.selection = {.metric = metric}});
      ASSERT_TRUE(report) << "seed " << seed;
      for (const char c : report_text(*report, {.sections = {Section::kThreads, Section::kHeap}})) {
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::present
