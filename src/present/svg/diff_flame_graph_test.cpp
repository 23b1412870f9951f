#include "present/svg/diff_flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/diff/hand_made_sides.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "present/svg/flame_graph_testing.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

analysis::DiffReport of_a_change() {
  const model::Profile base = analysis::side_of_change(false), fresh = analysis::side_of_change(true);
  return analysis::compare_sides(base, fresh);
}

// The script is tested in a browser.
std::string diff_without_script(std::string svg) {
  const std::size_t hash = svg.find("sha256-");
  svg.erase(hash + 7, svg.find('\'', hash) - hash - 7);
  const std::size_t start = svg.find("<![CDATA[") + 9;
  return svg.erase(start, svg.find("]]></script>") - start);
}

TEST(DiffFlameGraph, LooksAsItDid) {
  expect_golden("diff.svg", diff_without_script(diff_flame_graph_svg(of_a_change(), DiffWidth::kBoth, {})));
}

TEST(DiffFlameGraph, ShowsWhatIsGoneAndWhatIsNew) {
  const std::string svg = diff_flame_graph_svg(of_a_change(), DiffWidth::kBoth, {});
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(svg, HasSubstr("Trie::copy"));
  EXPECT_THAT(svg, HasSubstr("gone)"));
  EXPECT_THAT(svg, HasSubstr("new)"));
  // What stands in the frames and in the legend, for those who do not point at each of them.
  EXPECT_THAT(svg, HasSubstr(">− …copy</text>"));
  EXPECT_THAT(svg, HasSubstr(">+ …rehash</text>"));
  EXPECT_THAT(svg, HasSubstr(">gone (−)</text>"));
  EXPECT_THAT(svg, HasSubstr(">new (+)</text>"));
  EXPECT_THAT(svg, HasSubstr("more than in base"));
  EXPECT_THAT(svg, HasSubstr("no more than noise"));
  EXPECT_THAT(svg, HasSubstr("--normalize per-second"));
  EXPECT_THAT(svg, HasSubstr("Floor: "));
}

TEST(DiffFlameGraph, ItsTitleHasTheTotalsAndTheirRatio) {
  EXPECT_THAT(diff_flame_graph_svg(of_a_change(), DiffWidth::kBoth, {}),
              testing::ContainsRegex("<title>CPU: [0-9.]+ % → [0-9.]+ % \\(× [0-9.]+\\)</title>"));
  const model::Profile base = analysis::side_of_change(false);
  EXPECT_THAT(diff_flame_graph_svg(analysis::compare_sides(base, base), DiffWidth::kBoth, {}),
              HasSubstr("<title>CPU: what changed</title>"));
}

TEST(DiffFlameGraph, OfOneSidesWidthTheOthersFramesAreNotDrawn) {
  const std::string fresh = diff_flame_graph_svg(of_a_change(), DiffWidth::kNew, {});
  EXPECT_THAT(fresh, HasSubstr("Trie::rehash"));
  EXPECT_THAT(fresh, Not(HasSubstr("<title>Trie::copy")));
  const std::string base = diff_flame_graph_svg(of_a_change(), DiffWidth::kBase, {});
  EXPECT_THAT(base, HasSubstr("<title>Trie::copy"));
  EXPECT_THAT(base, Not(HasSubstr("<title>Trie::rehash")));
}

TEST(DiffFlameGraph, ARecordingAndItselfIsAllGrey) {
  const model::Profile base = analysis::side_of_change(false);
  const std::string svg = diff_flame_graph_svg(analysis::compare_sides(base, base), DiffWidth::kBoth, {});
  EXPECT_THAT(svg, HasSubstr("\"classes\":[\"n0\"]"));
}

TEST(DiffFlameGraph, OfAnyProfilesIsWellFormed) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 900);
    analysis::DiffOptions options;
    options.normalization = analysis::Normalization::kAbsolute;
    analysis::DiffRun base, fresh;
    base.profile = &a;
    base.label = "<\x1b&\"";
    fresh.profile = &b;
    const Result<analysis::DiffReport> report = analysis::make_diff({base}, {fresh}, options);
    if (!report) continue;
    ++seen;
    EXPECT_EQ(xml_mistake(diff_flame_graph_svg(*report, DiffWidth::kBoth, {})), std::nullopt) << seed;
  }
  EXPECT_GT(seen, 10);
}

TEST(FlameComparison, SaysBothSides) {
  FlameComparison comparison;
  comparison.scale = 0.001;
  comparison.percent = true;
  EXPECT_EQ(compared(comparison, 110, 162), "base 11.0 %, new 16.2 %: +47.3 %");
  EXPECT_EQ(compared(comparison, 0, 20), "base 0.0 %, new 2.0 %: new");
  EXPECT_EQ(compared(comparison, 20, 0), "base 2.0 %, new 0.0 %: gone");
  EXPECT_EQ(compared(comparison, 20, 20), "base 2.0 %, new 2.0 %: no change");
}

}  // namespace
}  // namespace fathom::present
