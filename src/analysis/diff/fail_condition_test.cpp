#include "analysis/diff/fail_condition.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

using About = FailCondition::About;

Change changed(double base, double fresh, bool beyond_noise) {
  Change change;
  change.base = base;
  change.fresh = fresh;
  change.change = fresh - base;
  change.looked_at = true;
  change.p = beyond_noise ? 1e-6 : 0.5;
  return change;
}

DiffReport report() {
  DiffReport report;
  report.whole = changed(1.0, 1.06, true);
  const auto row = [&](const std::string& name, double base, double fresh, bool beyond_noise) {
    DiffRow function;
    function.name = name;
    function.self = function.total = changed(base, fresh, beyond_noise);
    report.rows.push_back(function);
  };
  row("parse", 0.10, 0.12, true);
  row("parse_line", 0.20, 0.30, false);
  row("write", 0.20, 0.10, true);
  row("rehash", 0, 0.02, true);
  report.modules.push_back({"libssl.so", changed(0.1, 0.2, true)});
  return report;
}

std::vector<std::string> names(const std::string& text) {
  const Result<FailCondition> condition = parse_fail_condition(text);
  EXPECT_TRUE(condition) << text;
  std::vector<std::string> names;
  if (condition) {
    for (const Failure& failure : failures_of(report(), *condition)) names.push_back(failure.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(FailCondition, ComparesTheWhole) {
  EXPECT_EQ(names("total > +5%"), Names{""});
  EXPECT_EQ(names("total>5%"), Names{""});
  EXPECT_EQ(names("total > +7%"), Names{});
  EXPECT_EQ(names("total > +5pt"), Names{""});
  EXPECT_EQ(names("total > +7pt"), Names{});
}

TEST(FailCondition, HoldsOnlyForChangesBeyondNoise) {
  EXPECT_EQ(names("total > +5% : parse"), Names{"parse"});  // parse_line grew by half, which may be chance
}

// The error quoted an invalid expression with its line ends and escape sequences.
TEST(FailCondition, AnErrorIsOneLineForAnyInput) {
  const Result<FailCondition> condition = parse_fail_condition("total > +5% : a\n\x1b[31m(");
  ASSERT_FALSE(condition);
  for (const char c : condition.error().message) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(FailCondition, ANameThatNeitherSideHasIsNotFound) {
  const auto finds = [](const std::string& text) {
    return finds_its_name(report(), parse_fail_condition(text).value());
  };
  EXPECT_TRUE(finds("total > +5%"));
  EXPECT_TRUE(finds("total > +5% : parse_line"));  // even if the change is noise
  EXPECT_FALSE(finds("total > +5% : parse_lines"));
  EXPECT_TRUE(finds("module > +5% : libssl"));
  EXPECT_FALSE(finds("module > +5% : parse"));
  EXPECT_FALSE(finds("thread > +5% : worker"));
}

TEST(FailCondition, CoversNewFunctionsAndDecreases) {
  EXPECT_EQ(names("self > +1000% : rehash"), Names{"rehash"});
  EXPECT_EQ(names("total < -5% : ."), Names{"write"});
  EXPECT_EQ(names("total > +1% : ^(parse|rehash)$"), (Names{"rehash", "parse"}));
}

TEST(FailCondition, CoversModulesAndOtherMetrics) {
  EXPECT_EQ(names("module > +50% : ssl"), Names{"libssl.so"});
  EXPECT_EQ(names("peak > +1%"), Names{});  // not the report's metric
  EXPECT_EQ(parse_fail_condition("peak > +1%")->metric, model::Metric::kHeapPeak);
  EXPECT_EQ(parse_fail_condition("off-cpu > +1%")->metric, model::Metric::kOffCpu);
}

TEST(FailCondition, CoversTotalsThatBelongToNoMetric) {
  std::vector<Total> totals(4);
  totals[0].kind = TotalKind::kCalls;
  totals[0].name = "parse";
  totals[0].change = changed(100, 200, true);
  totals[1] = totals[0];
  totals[1].name = "write";
  totals[1].change = changed(100, 200, false);
  totals[2].kind = TotalKind::kWaits;
  totals[2].name = "sync";
  totals[2].change = changed(150, 300, true);
  totals[3].kind = TotalKind::kWall;
  totals[3].change = changed(1e9, 2e9, true);
  const auto names_of = [&](const char* text) {
    Names names;
    for (const Failure& failure : failures_of(totals, parse_fail_condition(text).value()))
      names.push_back(failure.name);
    return names;
  };
  EXPECT_EQ(names_of("calls > +5%"), Names{"parse"});
  EXPECT_EQ(names_of("calls > +5% : write"), Names{});
  EXPECT_EQ(names_of("waits > +50% : sync"), Names{"sync"});
  EXPECT_EQ(names_of("waits > +150% : sync"), Names{});
  EXPECT_EQ(names_of("elapsed > +5%"), Names{""});
  EXPECT_EQ(names_of("rss > +5%"), Names{});
  EXPECT_EQ(names("calls > +5%"), Names{}) << "no figure of a report";
  EXPECT_TRUE(finds_its_name(totals, parse_fail_condition("calls > +5% : write").value()));
  EXPECT_FALSE(finds_its_name(totals, parse_fail_condition("calls > +5% : read").value()));
}

// A check of a twofold slowdown passed without a word when noise could hide it.
TEST(FailCondition, ALimitExceededWithinNoiseIsNotDecided) {
  DiffReport noisy = report();
  noisy.whole = changed(1.0, 1.5, false);
  noisy.whole.sd_of_no_change = 0.2;
  noisy.whole.slack = 0.1;
  noisy.whole.freedom = 1e6;
  const auto undecided = undecided_of(noisy, parse_fail_condition("total > +20%").value());
  ASSERT_TRUE(undecided);
  EXPECT_DOUBLE_EQ(undecided->change.fresh, 1.5);
  EXPECT_NEAR(undecided->detectable, 0.1 + 0.2 * 2.326, 0.001) << "at one per cent on either side";
  EXPECT_FALSE(undecided_of(noisy, parse_fail_condition("total > +60%").value())) << "below the limit";
  EXPECT_FALSE(undecided_of(report(), parse_fail_condition("total > +5%").value())) << "it holds";
  noisy.whole.looked_at = false;
  EXPECT_FALSE(undecided_of(noisy, parse_fail_condition("total > +20%").value())) << "it is not judged";
}

// The peak of resident memory of a program of a second, with two readings, passed every check for ever.
TEST(FailCondition, AFigureWithTooFewReadingsIsFoundButNotJudged) {
  std::vector<Total> totals(1);
  totals[0].kind = TotalKind::kPeakRss;
  totals[0].change = changed(100, 300, false);
  totals[0].change.looked_at = false;
  const FailCondition condition = parse_fail_condition("rss > +20%").value();
  EXPECT_TRUE(finds_its_name(totals, condition));
  EXPECT_FALSE(is_judged(totals, condition));
  totals[0].change.looked_at = true;
  EXPECT_TRUE(is_judged(totals, condition));
}

// A total is judged as sharply among a thousand functions as alone, and one figure among many counts only as
// one of many.
TEST(FailCondition, IsJudgedByItsOwnFiguresAlone) {
  DiffReport many = report();
  many.whole.p = 0.01;
  for (int i = 0; i < 1000; ++i) {
    DiffRow row;
    row.name = "f" + std::to_string(i);
    row.self = row.total = changed(0.1, 0.2, false);
    row.self.p = row.total.p = 0.01;
    many.rows.push_back(row);
  }
  EXPECT_EQ(failures_of(many, parse_fail_condition("total > +5%").value()).size(), 1u);
  EXPECT_EQ(failures_of(many, parse_fail_condition("total > +5% : ^f7$").value()).size(), 1u);
  EXPECT_EQ(failures_of(many, parse_fail_condition("total > +5% : ^f").value()).size(), 0u);
}

TEST(FailCondition, NamesWithColonsArePatterns) {
  const Result<FailCondition> condition = parse_fail_condition("self > +2pt : ^Trie::root");
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->about, About::kSelf);
  EXPECT_EQ(condition->pattern, "/^Trie::root/");
  EXPECT_TRUE(condition->points);
  EXPECT_DOUBLE_EQ(condition->limit, 0.02);
}

TEST(FailCondition, TextThatIsNotAConditionIsRejected) {
  for (const std::string text :
       {"", "total", "total > ", "total > 5", "total > x%", "total > 5% :", "what > 5%", "self > 5%",
        "total > 5% : /(/", "total > nan%", "> 5%", "total > 5%%"}) {
    const Result<FailCondition> condition = parse_fail_condition(text);
    ASSERT_FALSE(condition) << text;
    EXPECT_EQ(condition.error().kind, ErrorKind::kUsage);
    EXPECT_FALSE(condition.error().remedy.empty());
  }
}

}  // namespace
}  // namespace fathom::analysis
