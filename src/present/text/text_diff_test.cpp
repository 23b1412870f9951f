#include "present/text/text_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/diff/hand_made_sides.h"
#include "analysis/diff/measured_runs.h"
#include "analysis/memory/hand_made_memory.h"
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

// A name like "@team" would have called a whole team to the pull request, and two dollars made a formula of what stands
// between them.
TEST(TextDiff, NamesInMarkdownMentionNoUserAndAreNoFormulas) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  hand.sample(thread, hand.stack({hand.frame(app, {"@team $_0 | #12 $x ![a](b) <img>"})}), 500);
  model::Profile fresh = hand.profile;
  fresh.samples.resize(100);
  DiffTextOptions options = narrow();
  options.style.width = 0;
  options.noise = true;
  const std::string text = diff_markdown({compare_sides(hand.profile, fresh)}, options);
  EXPECT_THAT(text, HasSubstr("| @<!-- -->team \\$\\_ \\| \\#<!-- -->12 \\$x !\\[a\\](b) \\<img\\> |"));
  EXPECT_THAT(text, Not(HasSubstr("@team")));
}

// Without problems it printed nothing about the recordings.
TEST(TextDiff, SaysHowGoodTheRecordingsOfBothSidesAre) {
  model::Profile base = side_of_change(false), again = base, fresh = side_of_change(true);
  base.quality.samples = 990;
  base.quality.lost_disk = 10;
  base.quality.complete = 1000;
  again.quality.samples = 1000;
  fresh.quality.samples = 4000;
  fresh.meta.facts.insert({{"own_start_us", "0"}, {"own_naming_us", "0"}, {"own_recording_us", "100000"}});
  const analysis::DiffQuality quality{analysis::side_quality({{&base, {}}, {&again, {}}}),
                                      analysis::side_quality({{&fresh, {}}})};
  EXPECT_EQ(quality.base.runs, 2u);
  DiffTextOptions options = narrow();
  options.style.width = 0;
  options.quality = &quality;
  const std::string text = diff_text({compare_sides(base, fresh)}, options);
  EXPECT_THAT(text, HasSubstr("fathom used 0.50 % of a core"));
  EXPECT_THAT(diff_markdown({compare_sides(base, fresh)}, options),
              HasSubstr(" Quality: base: 10 of 2,000 "));
  fresh.meta.engine = "import";
  const analysis::DiffQuality imported{quality.base, analysis::side_quality({{&fresh, {}}})};
  options.quality = &imported;
  EXPECT_THAT(diff_text({compare_sides(base, fresh)}, options),
              HasSubstr("; new: imported; losses are unknown, "));
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

// Peak, rate and what never was freed stand side by side, and RSS with what it consists of below.
TEST(TextDiff, TheHeapAndTheMemoryAreAnOverview) {
  const analysis::HandMadeMemory before = analysis::memory_of_small_heap();
  analysis::HandMadeMemory after = analysis::memory_of_small_heap();
  after.range(2.9, model::MemoryKind::kMapped, "", 4000);
  after.slice();
  after.row({0}, {5000, 5'000'000}, {4000, 4'000'000});
  std::vector<analysis::DiffReport> reports;
  for (const model::Metric metric : {model::Metric::kHeapLive, model::Metric::kHeapAllocated}) {
    analysis::DiffOptions options;
    options.metric = metric;
    reports.push_back(compare_sides(before.profile, after.profile, options));
  }
  analysis::DiffRun base, fresh;
  base.profile = &before.profile;
  fresh.profile = &after.profile;
  const auto memory = analysis::make_memory_diff({base}, {fresh});
  ASSERT_TRUE(memory);
  DiffTextOptions options = narrow();
  options.memory = &*memory;
  expect_golden("diff_heap.txt", diff_text(reports, options));
  const std::string markdown = diff_markdown(reports, options);
  EXPECT_THAT(markdown, HasSubstr("All that was compared"));
  EXPECT_THAT(markdown, HasSubstr("mapped by the program itself"));
}

// On a busy machine a new function with 2 % of the whole was noise per second but significant as a share; the
// diff did not report it.
TEST(TextDiff, ALoadInBurstsIsReportedWithTheMeasureThatIsUnaffected) {
  const auto recorded = [](bool steady) {
    analysis::HandMade hand;
    hand.profile.meta.end_ns = hand.profile.meta.start_ns + 20'000'000'000;
    const auto app = hand.module("app");
    const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
    const auto stack = hand.stack({hand.frame(app, {"work"})});
    for (int tenth = 0; tenth < 200; ++tenth) {
      if (steady || tenth / 40 % 2 == 0) hand.sample(thread, stack, 5, tenth * 0.1);
    }
    return std::move(hand.profile);
  };
  const auto text = [](const model::Profile& profile, analysis::DiffOptions options) {
    DiffTextOptions style;
    style.style.width = 0;
    return diff_text({compare_sides(profile, profile, options)}, style);
  };
  const auto says = HasSubstr("--normalize share compares the parts");
  analysis::DiffOptions share;
  share.normalization = analysis::Normalization::kShare;
  EXPECT_THAT(text(recorded(false), {}), says);
  EXPECT_THAT(text(recorded(false), share), Not(says));
  EXPECT_THAT(text(recorded(true), {}), Not(says));
}

TEST(TextDiff, DoubtIsPrintedBeforeTheAnswer) {
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

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Two whole runs were printed on 114 lines, of which the answer was the sixth.
TEST(TextDiff, OneScreenIsEnoughWhateverIsCompared) {
  int full = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 900);
    if (seed % 3 == 0) {
      a = side_of_change(false);
      b = side_of_change(true);
    }
    // All doubts there are, and a name that is longer than the screen.
    b.meta.engine = "perf";
    b.meta.event = "cycles";
    b.meta.facts["host"] = std::string(300, 'h');
    b.meta.facts["stolen_percent"] = "50";
    b.quality.truncated = true;
    b.quality.lost_ring_full = 1'000'000;
    model::Builder(b).string(std::string(2000, 'n'));
    std::vector<analysis::DiffReport> reports;
    for (int metric = 0; metric <= static_cast<int>(model::kLastMetric); ++metric) {
      analysis::DiffRun base, fresh;
      base.profile = &a;
      fresh.profile = &b;
      analysis::DiffOptions options;
      options.metric = static_cast<model::Metric>(metric);
      Result<analysis::DiffReport> report = analysis::make_diff({base}, {fresh}, options);
      if (report) reports.push_back(std::move(*report));
    }
    analysis::DiffRun base, fresh;
    base.profile = &a;
    fresh.profile = &b;
    const std::vector<analysis::Total> totals = analysis::make_totals({base}, {fresh}, reports);
    const analysis::DiffQuality quality{analysis::side_quality({{&a, {}}}),
                                        analysis::side_quality({{&b, {}}})};
    DiffTextOptions options = narrow();
    options.style.width = 100;
    options.totals = &totals;
    options.quality = &quality;
    const std::size_t all = lines_in(diff_text(reports, options));
    options.lines = 40;
    const std::string text = diff_text(reports, options);
    EXPECT_LE(lines_in(text), 40u) << "seed " << seed << "\n" << text;
    full += all > 40 ? 1 : 0;
  }
  EXPECT_GT(full, 10) << "most of these would be longer";
}

TEST(TextDiff, OneScreenHasTheTotalsFirstAndThenWhatChanged) {
  const model::Profile base = analysis::measured_run({.cpu_s = 3.7, .hot = 0.5}),
                       fresh = analysis::measured_run({.cpu_s = 0.07, .hot = 0.9});
  analysis::DiffRun a, b;
  a.profile = &base;
  a.label = "old.fathom";
  b.profile = &fresh;
  b.label = "new.fathom";
  const std::vector<analysis::DiffReport> reports{analysis::make_diff({a}, {b}, {}).value()};
  const std::vector<analysis::Total> totals = analysis::make_totals({a}, {b}, reports);
  DiffTextOptions options = narrow();
  options.style.width = 100;
  options.lines = 40;
  options.totals = &totals;
  expect_golden("diff_totals.txt", diff_text(reports, options));
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
