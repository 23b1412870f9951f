#include "present/text/text_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "base/golden.h"
#include "model/marks.h"
#include "model/random_profile.h"
#include "present/text/time_axis.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const model::Profile& profile, const TextOptions& style = {},
                    analysis::TimelineOptions options = {}) {
  options.columns = timeline_columns(style);
  return heap_timeline_text(analysis::make_heap_timeline(profile, options).value(), style);
}

// The small server plus resident memory.
model::Profile server(double resident) {
  analysis::HandMadeHeap hand = analysis::small_heap();
  model::Series row;
  row.name = hand.builder.string("memory.rss_anon");
  row.unit = hand.builder.string("bytes");
  row.pid = 10;
  for (int i = 0; i < 12; ++i)
    row.points.push_back({hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 250'000'000,
                          resident * (i < 6 ? 0.3 + 0.1 * i : 1)});
  hand.profile.series.push_back(std::move(row));
  return hand.profile;
}

TEST(TextTimeline, OfAServer) {
  expect_golden("timeline.txt", text_of(server(8'000'000)));
}

TEST(TextTimeline, OfAServerNarrowByModule) {
  expect_golden("timeline_narrow.txt",
                text_of(server(8'000'000), {.width = 60}, {.by = analysis::TimelineBy::kModule}));
}

TEST(TextTimeline, LeavesOutResidentMemoryThatWouldMakeTheHeapAStroke) {
  const std::string text = text_of(server(2e9));
  EXPECT_THAT(text, Not(HasSubstr("*")));
  EXPECT_THAT(text, HasSubstr("Resident memory, up to 1.9 GiB,"));
}

TEST(TextTimeline, NamesMomentsBelowTheirTimesWhereThereIsRoom) {
  model::Profile profile = server(8'000'000);
  profile.meta.facts[model::kMarksFact] =
      "0.5 s: i0\n0.51 s: hidden\n2 s: " + std::string(500, 'm') + "\n2.5 s: m7\x1b[31m\n900 s: outside\n";
  const std::string text = text_of(profile);
  EXPECT_THAT(text, testing::ContainsRegex("\n +i0 .*mmm"));
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, Not(HasSubstr("outside")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(TextTimeline, OfNothingHasAMessage) {
  EXPECT_THAT(text_of(analysis::small_heap().profile, {}, {.selection = {.pid = 77}}),
              HasSubstr("Nothing was live in this time."));
}

TEST(TextTimeline, OfAnyProfileKeepsToItsWidthAndHoldsNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    const std::string text = text_of(profile, {.width = 80});
    const std::size_t chart_end = text.find("What the peak");
    std::size_t column = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      ASSERT_TRUE(text[i] == '\n' || static_cast<unsigned char>(text[i]) >= 0x20) << "seed " << seed;
      column = text[i] == '\n' ? 0 : column + 1;
      if (chart_end != std::string::npos && i < chart_end) {
        ASSERT_LE(column, 80u) << "seed " << seed << "\n" << text;
      }
    }
  }
}

TEST(ByteAxis, HoldsTheLargestValueInFewRoundSteps) {
  for (const double most : {1.0, 7.0, 1023.0, 1024.0, 5e5, 3.3e6, 7.7e7, 1.0e9, 6.4e10, 2e15}) {
    const ByteAxis axis = byte_axis(most, 18);
    EXPECT_GE(axis.step * static_cast<double>(axis.steps), most * 0.999999);
    EXPECT_LE(axis.steps, 18u) << most;
    // The chart is not mostly empty.
    EXPECT_GE(axis.steps, most < 100 ? 1u : 13u) << most;
  }
  const ByteAxis axis = byte_axis(78.3 * 1024 * 1024, 18);
  EXPECT_EQ(axis.unit_name, "MiB");
  EXPECT_EQ(axis.label(2), "10");
}

TEST(TimeTicks, AreRoundAndInsideOfTheWindow) {
  const auto labels = [](double from, double to) {
    std::vector<std::string> texts;
    for (const TimeTick& tick : time_ticks(from, to, 4)) texts.push_back(tick.label);
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(labels(0, 3), (Texts{"0 s", "1 s", "2 s", "3 s"}));
  EXPECT_EQ(labels(-0.001, 0.05), (Texts{"0 ms", "20 ms", "40 ms"}));
  EXPECT_EQ(labels(100, 700), (Texts{"5 min", "10 min"}));
  EXPECT_EQ(labels(0, 400'000), (Texts{"0 d", "2 d", "4 d"}));
  EXPECT_EQ(labels(5, 5), (Texts{"5 s"}));
}

}  // namespace
}  // namespace fathom::present
