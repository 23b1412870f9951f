#include "present/svg/heap_timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "base/golden.h"
#include "model/marks.h"
#include "model/random_profile.h"
#include "present/svg/flame_graph_testing.h"
#include "present/svg/svg_text.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

analysis::HeapTimeline timeline_of(const model::Profile& profile, analysis::TimelineOptions options = {}) {
  return analysis::make_heap_timeline(profile, options).value();
}

// The script changes often and is tested in a browser; a golden of everything else says more without it.
std::string timeline_without_script(std::string svg) {
  const std::size_t hash = svg.find("sha256-");
  svg.erase(hash + 7, svg.find('\'', hash) - hash - 7);
  const std::size_t start = svg.find("<![CDATA[") + 9;
  return svg.erase(start, svg.find("]]></script>") - start);
}

model::Profile server_with_resident_memory(double most = 8e6) {
  analysis::HandMadeHeap hand = analysis::small_heap();
  for (const char* name : {"memory.rss_anon", "memory.rss_file"}) {
    model::Series row;
    row.name = hand.builder.string(name);
    row.unit = hand.builder.string("bytes");
    row.pid = 10;
    for (int i = 0; i < 12; ++i)
      row.points.push_back({hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 250'000'000,
                            most * (i < 6 ? 0.3 + 0.1 * i : 1)});
    hand.profile.series.push_back(std::move(row));
    most /= 4;
  }
  return hand.profile;
}

TEST(HeapTimelineSvg, LooksAsItDid) {
  HeapTimelineOptions options;
  options.notes = {"Recorded on a test machine."};
  expect_golden("timeline.svg", timeline_without_script(
                                    heap_timeline_svg(timeline_of(server_with_resident_memory()), options)));
}

TEST(HeapTimelineSvg, SaysThePeakAndWhatItWasMadeOf) {
  const std::string svg = heap_timeline_svg(timeline_of(server_with_resident_memory()), {});
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("peak 6.7 MiB at 1.50 s"));
  EXPECT_THAT(svg, HasSubstr("5.7 MiB, 85.7 %"));
  EXPECT_THAT(svg, HasSubstr("server::load(std::string const&amp;) [server]"));
  EXPECT_THAT(svg, HasSubstr(": no more was live in that time."));
}

// "At the peak: main 0 bytes; passing, inside of a slice 0 bytes" is no news of the peak.
TEST(HeapTimelineSvg, WhatWasNotThereAtThePeakHasNoBytesOfIt) {
  analysis::HeapTimeline timeline = timeline_of(server_with_resident_memory());
  std::size_t g = 0;
  while (timeline.groups[g].at_peak <= 0) ++g;
  timeline.groups[g].at_peak = 0;
  for (analysis::TimelinePoint& point : timeline.points) point.groups[g] = 3 << 20;
  const std::string svg = heap_timeline_svg(timeline, {});
  EXPECT_THAT(svg, Not(HasSubstr(" 0 bytes")));
  EXPECT_THAT(svg, HasSubstr("none then, up to 3.0 MiB"));
}

TEST(HeapTimelineSvg, TheErrorOfThePeakIsNextToItsBytesAndNotToItsTime) {
  analysis::HeapTimeline timeline = timeline_of(server_with_resident_memory());
  timeline.peak.error = 1 << 20;
  EXPECT_THAT(heap_timeline_svg(timeline, {}), HasSubstr("peak 6.7 MiB ±1.0 MiB at 1.50 s"));
}

// The y of the peak's dot: how far the heap reaches up.
std::string peak_of(const std::string& svg) {
  const std::size_t at = svg.find(" cy=\"", svg.find("class=\"dot\""));
  return svg.substr(at, svg.find('"', at + 5) - at);
}

TEST(HeapTimelineSvg, GivesTheHeapItsHeightHoweverLargeTheProcessIs) {
  const std::string svg = heap_timeline_svg(timeline_of(server_with_resident_memory(4e9)), {});
  EXPECT_EQ(peak_of(svg), peak_of(heap_timeline_svg(timeline_of(server_with_resident_memory()), {})));
  EXPECT_THAT(svg, HasSubstr("resident, anonymous: up to 3.7 GiB"));
  EXPECT_THAT(svg, Not(HasSubstr("not drawn")));
}

TEST(HeapTimelineSvg, LeavesLinesOutThatWouldHugTheBottom) {
  model::Profile profile = server_with_resident_memory();
  for (model::Series& row : profile.series)
    if (profile.strings[row.name] == "memory.rss_file")
      for (auto& point : row.points) point.value = 0.04 * 8e6;
  const std::string svg = heap_timeline_svg(timeline_of(profile), {});
  EXPECT_THAT(svg, HasSubstr("resident, of files (not drawn)"));
  EXPECT_THAT(
      svg,
      HasSubstr("Not drawn because below 5.0 % of the largest line of the process: resident, of files."));
}

TEST(HeapTimelineSvg, NamesMomentsBelowTheAxisWhereThereIsRoom) {
  model::Profile profile = server_with_resident_memory();
  profile.meta.facts[model::kMarksFact] = "0.5 s: i0\n0.501 s: u<1>\n2 s: f\n900 s: outside\n";
  const std::string svg = heap_timeline_svg(timeline_of(profile), {});
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("<title>i0 at 500 ms</title>"));
  EXPECT_THAT(svg, HasSubstr(">i0</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>u&lt;1> at 501 ms</title>"));
  EXPECT_THAT(svg, Not(HasSubstr(">u&lt;1></text>")));
  EXPECT_THAT(svg, HasSubstr(">f</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("outside")));
}

TEST(HeapTimelineSvg, ItsAxisMayCountBytes) {
  const std::string svg = heap_timeline_svg(timeline_of(server_with_resident_memory(), {.moved = true}), {});
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("The axis counts bytes allocated and freed"));
  EXPECT_THAT(svg, HasSubstr(">20 MiB</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">1.5 s</text>")));
  EXPECT_THAT(svg, HasSubstr("peak 6.7 MiB at 1.50 s"));
}

TEST(HeapTimelineSvg, OfNothingHasAMessage) {
  const std::string svg =
      heap_timeline_svg(timeline_of(analysis::small_heap().profile, {.selection = {.pid = 77}}), {});
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("Nothing to draw"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(HeapTimelineSvg, NothingIsFetchedAndNoAttributeRuns) {
  const std::string svg = heap_timeline_svg(timeline_of(server_with_resident_memory()), {});
  for (const char* forbidden :
       {"onload", "onclick", "onmouse", "href", "url(", "@import", "<image", "<use", "eval(", "innerHTML"}) {
    EXPECT_THAT(svg, Not(HasSubstr(forbidden)));
  }
}

TEST(HeapTimelineSvg, OfHostileNamesIsWellFormed) {
  analysis::HandMadeHeap hand;
  hand.process(10, "app");
  const auto app = hand.module("a]]><&\"'\x01\xff");
  for (const char* name :
       {"</metadata><script>alert(1)</script>", "]]>", "\x1b[31m\xc3", "&amp;\"quoted\"", ""})
    hand.site(hand.stack({hand.frame(app, {name})}));
  hand.slice();
  for (std::uint32_t i = 0; i < 5; ++i) hand.row({i}, {1, 1000.0 * (i + 1)});
  hand.profile.meta.end_ns = hand.profile.heap.slices.back().end_ns;
  HeapTimelineOptions options;
  options.title = "<b>\x02 & \"";
  const std::string svg = heap_timeline_svg(timeline_of(hand.profile), options);
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_EQ(svg.find("<script>alert"), std::string::npos);
}

TEST(HeapTimelineSvg, OfAnyProfileIsWellFormed) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    for (const double width : {300.0, 1200.0}) {
      HeapTimelineOptions options;
      options.width = width;
      analysis::TimelineOptions shown;
      shown.groups = 20;
      shown.columns = timeline_columns(options);
      const std::string svg = heap_timeline_svg(timeline_of(profile, shown), options);
      EXPECT_EQ(xml_mistake(svg), std::nullopt) << "seed " << seed;
    }
  }
}

TEST(SvgText, NumbersAreShortAndHashesAreBase64) {
  EXPECT_EQ(number(12.3456), "12.35");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(40), "40");
  EXPECT_EQ(base64("00ff10"), "AP8Q");
  EXPECT_EQ(base64("00"), "AA==");
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
}

}  // namespace
}  // namespace fathom::present
