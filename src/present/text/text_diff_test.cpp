#include "present/text/text_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/diff/hand_made_sides.h"
#include "base/golden.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using analysis::compare_sides;
using analysis::side_of_change;
using testing::HasSubstr;
using testing::Not;

std::vector<analysis::DiffReport> of_a_change() {
  const model::Profile base = side_of_change(false), fresh = side_of_change(true);
  return {compare_sides(base, fresh)};
}

DiffTextOptions narrow() {
  DiffTextOptions options;
  options.style.width = 110;
  options.style.top = 10;
  return options;
}

TEST(TextDiff, OfAChange) {
  expect_golden("diff.txt", diff_text(of_a_change(), narrow()));
}

TEST(TextDiff, AsMarkdown) {
  expect_golden("diff.md", diff_markdown(of_a_change(), narrow()));
}

TEST(TextDiff, NoiseIsShownWhereItIsAskedForAndSaidToBeIt) {
  const model::Profile base = side_of_change(false);
  DiffTextOptions options = narrow();
  const std::string quiet = diff_text({compare_sides(base, base)}, options);
  EXPECT_THAT(quiet, HasSubstr("Nothing differs by more than noise"));
  EXPECT_THAT(quiet, Not(HasSubstr("Trie::root")));
  options.noise = true;
  const std::string all = diff_text({compare_sides(base, base)}, options);
  EXPECT_THAT(all, HasSubstr("Trie::root"));
  EXPECT_THAT(all, HasSubstr("noise"));
}

TEST(TextDiff, DoubtIsSaidBeforeTheAnswer) {
  const model::Profile base = side_of_change(false);
  model::Profile fresh = side_of_change(true);
  fresh.meta.engine = "perf";
  const std::string text = diff_text({compare_sides(base, fresh)}, narrow());
  EXPECT_LT(text.find("Doubtful: base was recorded by bpf, new by perf."), text.find("Trie::root"));
}

TEST(TextDiff, TheOtherWayRoundTheSameFunctionsBecameLess) {
  const model::Profile base = side_of_change(false), fresh = side_of_change(true);
  const std::string text = diff_text({compare_sides(fresh, base)}, narrow());
  EXPECT_THAT(text, HasSubstr("new takes"));
  EXPECT_THAT(text, HasSubstr("less CPU time per second than base"));
}

TEST(TextDiff, OfAnyProfilesHoldsNoControlCharacters) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 900);
    analysis::DiffOptions options;
    options.normalization = analysis::Normalization::kAbsolute;
    analysis::DiffRun base, fresh;
    base.profile = &a;
    base.label = "a\x1b\n";
    fresh.profile = &b;
    const Result<analysis::DiffReport> report = analysis::make_diff({base}, {fresh}, options);
    if (!report) continue;
    ++seen;
    DiffTextOptions style = narrow();
    style.noise = true;
    for (const std::string& text : {diff_text({*report}, style), diff_markdown({*report}, style)}) {
      for (const char c : text)
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
    }
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace fathom::present
