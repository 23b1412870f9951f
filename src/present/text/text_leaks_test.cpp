#include "present/text/text_leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "base/golden.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

analysis::LeakReport leaks_of(model::HeapMode mode) {
  analysis::HandMadeHeap hand = analysis::small_heap(mode);
  hand.profile.meta.target = "server";
  if (mode == model::HeapMode::kExact) {
    hand.profile.processes[0].end_ns = hand.profile.meta.end_ns;
    hand.profile.heap.heaps[0].from_start = true;
  }
  const auto app = hand.profile.heap.allocators[2].module;
  const auto leaf = hand.builder.frame_with_lines(
      app, {0x40},
      {{"server::Name::Name(std::string const&)", "/src/server/name.h", 12},
       {"server::Session::open(std::string const&, std::optional<server::Options>, std::chrono::seconds)",
        "/src/server/session.cpp", 345}});
  const auto site = hand.site(hand.builder.stack(hand.profile.heap.sites[0].stack, leaf));
  hand.row(site, {12, 600});
  hand.profile.heap.histograms.push_back({site, model::HeapHistogramKind::kAge, 20, {12, 600}});
  analysis::LeakOptions options;
  options.suppressions = analysis::parse_suppressions("leak:strdup", "known.supp").value();
  return analysis::find_leaks(hand.profile, options).value();
}

TEST(TextLeaks, OfAProgramFromItsStartToItsEnd) {
  expect_golden("leaks.txt", leaks_text(leaks_of(model::HeapMode::kExact), {}));
}

TEST(TextLeaks, OfAServerThatWasSampledForAWhile) {
  expect_golden("leaks_sampled.txt", leaks_text(leaks_of(model::HeapMode::kSampled), {.width = 120}));
}

TEST(TextLeaks, SaysWhatRecordingCost) {
  const std::string text =
      leaks_text(leaks_of(model::HeapMode::kExact), {.width = 0, .own_cost = "fathom took 1.2 % of a core"});
  EXPECT_THAT(text, testing::ContainsRegex("\nQuality: [^\n]*; fathom took 1.2 % of a core\n"));
}

TEST(TextLeaks, SaysWhatWasCutOff) {
  const auto report = leaks_of(model::HeapMode::kExact);
  const std::string text = leaks_text(report, {.width = 0, .top = 1, .frames = 2});
  EXPECT_THAT(text, testing::HasSubstr("... 1 frame more (--frames 0 shows all)"));
  EXPECT_THAT(text, testing::HasSubstr("... 1 group more (--top 0 shows all)"));
}

TEST(TextLeaks, OfAnyProfileHoldsNoControlCharacters) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    ++seen;
    for (const char c : leaks_text(analysis::find_leaks(profile, {}).value(), {}))
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace fathom::present
