#include "analysis/diff/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

// A program of one thread, with 100 samples a second: `parse` and `write` alternate within every second.
model::Profile program(int parse_in_ten, int seconds, const std::string& more = "") {
  HandMade hand;
  const auto app = hand.module("app");
  const auto process = hand.process(10, "app");
  hand.profile.processes[0].executable = hand.builder.string("/usr/bin/app");
  const auto thread = hand.thread(process, 10, "app");
  const auto main = hand.frame(app, {"main"});
  const auto parse = hand.stack({main, hand.frame(app, {"parse"})});
  const auto write = hand.stack({main, hand.frame(app, {"write"})});
  const auto other = hand.stack({main, hand.frame(app, {more.empty() ? "other" : more})});
  for (int i = 0; i < seconds * 10; ++i) {
    hand.sample(thread, parse, parse_in_ten, i * 0.1);
    hand.sample(thread, more.empty() ? write : other, 10 - parse_in_ten, i * 0.1 + parse_in_ten * 0.01);
  }
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(seconds) * 1'000'000'000;
  return std::move(hand.profile);
}

DiffRun run(const model::Profile& profile, const std::string& label = "x") {
  DiffRun run;
  run.profile = &profile;
  run.label = label;
  return run;
}

const DiffRow& row(const DiffReport& report, const std::string& name) {
  for (const DiffRow& row : report.rows) {
    if (row.name == name) return row;
  }
  static const DiffRow none;
  ADD_FAILURE() << "no row " << name;
  return none;
}

std::vector<Change> all_changes(const DiffReport& report) {
  std::vector<Change> changes{report.whole};
  for (const DiffRow& row : report.rows) {
    changes.push_back(row.self);
    changes.push_back(row.total);
  }
  for (const auto* groups : {&report.modules, &report.threads, &report.causes}) {
    for (const DiffGroup& group : *groups) changes.push_back(group.self);
  }
  return changes;
}

TEST(Diff, ARecordingAndItselfDoNotDiffer) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    for (const model::Metric metric : metrics_in(profile)) {
      DiffOptions options;
      options.metric = metric;
      options.normalization = Normalization::kAbsolute;
      const Result<DiffReport> report = make_diff({run(profile)}, {run(profile)}, options);
      if (!report) continue;  // only idle waits
      EXPECT_TRUE(report->doubts.empty() || report->doubts.front().kind >= DoubtKind::kLosses);
      for (const Change& change : all_changes(*report)) {
        EXPECT_EQ(change.change, 0);
        EXPECT_FALSE(change.beyond_noise);
      }
    }
  }
}

TEST(Diff, ExchangingTheSidesFlipsEverySign) {
  int compared = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 500);
    DiffOptions options;
    options.normalization = Normalization::kAbsolute;
    const Result<DiffReport> there = make_diff({run(a)}, {run(b)}, options);
    const Result<DiffReport> back = make_diff({run(b)}, {run(a)}, options);
    ASSERT_EQ(there.has_value(), back.has_value());
    if (!there) continue;
    ++compared;
    EXPECT_EQ(there->whole.change, -back->whole.change);
    EXPECT_EQ(there->whole.beyond_noise, back->whole.beyond_noise);
    ASSERT_EQ(there->rows.size(), back->rows.size());
    const auto found = [](const DiffReport& report) {
      std::vector<std::tuple<std::string, double, double, bool>> rows;
      const double sign = report.whole.change < 0 ? -1 : 1;
      for (const DiffRow& row : report.rows)
        rows.emplace_back(row.name, sign * row.self.change, row.self.error, row.self.beyond_noise);
      std::sort(rows.begin(), rows.end());
      return rows;
    };
    if (there->whole.change != 0) {
      EXPECT_EQ(found(*there), found(*back)) << seed;
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(Diff, SumsOfDifferencesAreTheDifferenceOfSumsUnderEveryFilter) {
  int compared = 0;
  for (const model::Metric metric : {model::Metric::kCpu, model::Metric::kOffCpu, model::Metric::kWall})
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
      const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 500);
      for (int filter = 0; filter < 3; ++filter) {
        Selection selection;
        if (filter == 1) selection.to_ns = 5'000;
        if (filter == 2) selection.from_ns = 3'000;
        DiffRun base = run(a), fresh = run(b);
        base.selection = fresh.selection = selection;
        DiffOptions options;
        options.metric = metric;
        options.normalization = Normalization::kAbsolute;
        const Result<DiffReport> report = make_diff({base}, {fresh}, options);
        if (!report) continue;
        ++compared;
        double rows = 0, nodes = 0;
        for (const DiffRow& row : report->rows) rows += row.self.change;
        const NodeFigures figures = node_figures(*report);
        for (std::size_t i = 0; i < figures.base.size(); ++i) nodes += figures.fresh[i] - figures.base[i];
        const double near = 1e-9 * (std::fabs(report->whole.base) + std::fabs(report->whole.fresh));
        EXPECT_NEAR(nodes, report->whole.change, near) << seed;
        // Samples and waits without a stack belong to their thread alone.
        double threads_own = 0;
        for (std::size_t node = 0; node < report->tree.nodes.size(); ++node) {
          const UnionNode& of = report->tree.nodes[node];
          const NodeKind owner = of.kind == NodeKind::kCause ? report->tree.nodes[of.parent].kind : of.kind;
          if (owner == NodeKind::kThread || owner == NodeKind::kRoot)
            threads_own += figures.fresh[node] - figures.base[node];
        }
        EXPECT_NEAR(rows + threads_own, report->whole.change, near) << seed;
      }
    }
  EXPECT_GT(compared, 20);
}

TEST(Diff, PerSecondIsTheDefaultAndALongerRecordingIsNoChange) {
  const model::Profile a = program(3, 10), b = program(3, 30);
  const Result<DiffReport> report = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->normalization, Normalization::kPerSecond);
  EXPECT_EQ(report->unit, DiffUnit::kOfCore);
  EXPECT_NEAR(report->whole.base, 1, 1e-9);
  EXPECT_NEAR(row(*report, "parse").self.base, 0.3, 1e-9);
  EXPECT_NEAR(row(*report, "parse").self.fresh, 0.3, 1e-9);
  for (const Change& change : all_changes(*report)) EXPECT_FALSE(change.beyond_noise);
  ASSERT_EQ(report->doubts.size(), 1u);
  EXPECT_EQ(report->doubts[0].kind, DoubtKind::kDuration);
}

TEST(Diff, AFunctionThatGrewIsFirstAndBeyondNoise) {
  const model::Profile a = program(3, 20), b = program(5, 20);
  const Result<DiffReport> report = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(report);
  const Change& parse = row(*report, "parse").self;
  EXPECT_TRUE(parse.beyond_noise);
  EXPECT_NEAR(parse.change, 0.2, 1e-9);
  EXPECT_LT(parse.error, 0.1);
  EXPECT_FALSE(report->whole.beyond_noise);  // one core before and after
}

TEST(Diff, NewAndRemovedFunctionsAreMarked) {
  const model::Profile a = program(3, 20), b = program(3, 20, "rehash");
  const Result<DiffReport> report = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(row(*report, "rehash").is_new());
  EXPECT_TRUE(row(*report, "write").is_gone());
  EXPECT_TRUE(row(*report, "write").self.beyond_noise);
}

TEST(Diff, ComparesPerUnitOfWork) {
  const model::Profile a = program(5, 10), b = program(5, 20);
  DiffRun base = run(a), fresh = run(b);
  base.work = 1000;
  fresh.work = 1000;
  const Result<DiffReport> report = make_diff({base}, {fresh}, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->normalization, Normalization::kWork);
  EXPECT_NEAR(report->whole.base, 10e9 / 1000, 1);
  EXPECT_NEAR(report->whole.change / report->whole.base, 1, 1e-9);
  EXPECT_TRUE(report->whole.beyond_noise);
}

TEST(Diff, ComparesTwoTimeRangesOfOneRecording) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto quiet = hand.stack({hand.frame(app, {"quiet"})}), busy = hand.stack({hand.frame(app, {"busy"})});
  hand.sample(thread, quiet, 500);
  hand.sample(thread, busy, 500, 5);
  DiffRun base = run(hand.profile), fresh = run(hand.profile);
  base.selection.to_ns = 5'000'000'000;
  fresh.selection.from_ns = 5'000'000'000;
  const Result<DiffReport> report = make_diff({base}, {fresh}, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(row(*report, "busy").is_new());
  EXPECT_TRUE(row(*report, "quiet").is_gone());
  EXPECT_NEAR(row(*report, "busy").self.fresh, 1, 1e-9);
  EXPECT_TRUE(report->doubts.empty());
}

TEST(Diff, SeveralRunsOfASideAreJudgedByTheirSpread) {
  // 2, 4 and 6 of ten against 3, 5 and 7: one more each, and no two runs alike.
  std::vector<model::Profile> profiles;
  for (const int parse : {2, 4, 6, 3, 5, 7}) profiles.push_back(program(parse, 20));
  const auto runs = [&](std::size_t from) {
    return std::vector<DiffRun>{run(profiles[from]), run(profiles[from + 1]), run(profiles[from + 2])};
  };
  const Result<DiffReport> spread = make_diff(runs(0), runs(3), {});
  ASSERT_TRUE(spread);
  EXPECT_NEAR(row(*spread, "parse").self.change, 0.1, 1e-9);
  EXPECT_FALSE(row(*spread, "parse").self.beyond_noise);
  const Result<DiffReport> single = make_diff({run(profiles[1])}, {run(profiles[4])}, {});
  ASSERT_TRUE(single);
  EXPECT_TRUE(row(*single, "parse").self.beyond_noise);
}

TEST(Diff, OneSampleAgainstNoneIsNotJudged) {
  model::Profile a = program(3, 20);
  HandMade hand;
  const model::Profile b = program(3, 20);
  model::Builder builder(a);
  model::Sample extra = a.samples.front();
  extra.stack = builder.stack({0}, builder.named_frame("once", {1}));
  a.samples.push_back(extra);
  const Result<DiffReport> report = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(report);
  EXPECT_FALSE(row(*report, "once").self.looked_at);
  EXPECT_FALSE(row(*report, "once").self.beyond_noise);
}

TEST(Diff, DoubtsComeFromTheFactsOfBothSides) {
  model::Profile a = program(3, 20), b = program(3, 20);
  b.meta.frequency_hz = 50;
  b.meta.engine = "perf";
  b.meta.facts["stolen_percent"] = "12.0";
  b.quality.lost_ring_full = 1000;
  const Result<DiffReport> report = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(report);
  std::vector<DoubtKind> kinds;
  for (const Doubt& doubt : report->doubts) kinds.push_back(doubt.kind);
  EXPECT_EQ(kinds, (std::vector<DoubtKind>{DoubtKind::kRate, DoubtKind::kEngine, DoubtKind::kLosses,
                                           DoubtKind::kStolen}));
}

TEST(Diff, ADoubtNamesARunOfEachSide) {
  const model::Profile a = program(3, 20), b = program(3, 20);
  model::Profile slower = program(3, 20);
  slower.meta.frequency_hz = 50;
  const Result<DiffReport> report = make_diff({run(a), run(slower)}, {run(b)}, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->doubts.size(), 1u);
  EXPECT_EQ(report->doubts[0].base, "50 Hz") << "that of the second run";
  EXPECT_EQ(report->doubts[0].fresh, std::to_string(b.meta.frequency_hz) + " Hz");
}

TEST(Diff, HostsAreNoDoubtWhereTheRunsOfASideAreOfSeveral) {
  model::Profile a = program(3, 20), b = program(3, 20), c = program(3, 20);
  a.meta.facts["host"] = "one";
  b.meta.facts["host"] = "two";
  c.meta.facts["host"] = "three";
  EXPECT_TRUE(make_diff({run(a), run(b)}, {run(c)}, {})->doubts.empty());
  const Result<DiffReport> report = make_diff({run(a)}, {run(c)}, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->doubts.size(), 1u);
  EXPECT_EQ(report->doubts[0].kind, DoubtKind::kHost);
}

TEST(Diff, AnotherCompilerIsADoubt) {
  model::Profile a = program(3, 20), b = program(3, 20);
  const std::string path(a.strings[a.processes.front().executable]);
  a.meta.facts["compilers." + path] = "GCC: (Debian) 12.2.0";
  EXPECT_TRUE(make_diff({run(a)}, {run(b)}, {})->doubts.empty()) << "unknown on one side";
  b.meta.facts["compilers." + path] = "clang version 16.0.6";
  const Result<DiffReport> report = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->doubts.size(), 1u);
  EXPECT_EQ(report->doubts[0].kind, DoubtKind::kCompilers);
  EXPECT_EQ(report->doubts[0].fresh, "clang version 16.0.6");
}

// A server adds hosts up, so its samples have no moments: all of them in the first second would be a load that varies.
TEST(Diff, RunsWithoutMomentsHaveNoLoadOverTime) {
  std::vector<model::Profile> profiles;
  for (int i = 0; i < 4; ++i) {
    profiles.push_back(program(3, 20));
    for (model::Sample& sample : profiles.back().samples) sample.time_ns = 0;
    model::Wait sum;
    sum.waited_ns = 1'000'000'000;
    sum.weight = 50;
    profiles.back().waits.push_back(sum);
    profiles.back().meta.facts[model::kWaitSumsFact] = "yes";
  }
  const Result<DiffReport> report =
      make_diff({run(profiles[0]), run(profiles[1]), run(profiles[2])}, {run(profiles[3])}, {});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->base.unevenness) << *report->base.unevenness;
  EXPECT_FALSE(report->fresh.unevenness);
  EXPECT_LT(report->whole.error, 0.3 * report->whole.base);
}

TEST(Diff, OnABusyMachineSharesAreComparedAndTheReportSaysSo) {
  // Other programs shared the machine: base had the CPU to itself, new had half of it.
  model::Profile a = program(4, 20), b = program(4, 20);
  std::size_t number = 0;
  std::erase_if(b.samples, [&](const model::Sample&) { return number++ % 2 == 1; });
  for (model::Profile* profile : {&a, &b}) {
    profile->quality.expected_samples = 10.0 * profile->meta.frequency_hz;
    profile->meta.facts["cpu_wait_ms"] = "100";
  }
  const Result<DiffReport> quiet = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(quiet);
  EXPECT_EQ(quiet->normalization, Normalization::kPerSecond);
  EXPECT_FALSE(quiet->busy_machine);
  EXPECT_TRUE(quiet->doubts.empty());
  b.meta.facts["cpu_wait_ms"] = "10000";  // half of the time when it could run
  EXPECT_DOUBLE_EQ(cpu_wait_share(b), 0.5);
  const Result<DiffReport> busy = make_diff({run(a)}, {run(b)}, {});
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->normalization, Normalization::kShare);
  EXPECT_TRUE(busy->busy_machine);
  ASSERT_EQ(busy->doubts.size(), 1);
  EXPECT_EQ(busy->doubts[0].kind, DoubtKind::kBusy);
  EXPECT_FALSE(busy->whole.beyond_noise);
  EXPECT_GE(busy->own_spread, kSpreadOfShares / 2);
  a.meta.facts.erase("cpu_wait_ms");
  EXPECT_EQ(make_diff({run(a)}, {run(b)}, {})->doubts[0].base, "an unknown part") << "it ended too soon";
  // A limit for the whole still applies to the whole, with an error that includes the effect of the machine.
  const Result<DiffReport> checked = make_diff({run(a)}, {run(b)}, {.whole_matters = true});
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->normalization, Normalization::kPerSecond);
  EXPECT_FALSE(checked->whole.beyond_noise);
  EXPECT_TRUE(quiet->whole.beyond_noise);
  EXPECT_EQ(make_diff({run(a), run(a)}, {run(b), run(b)}, {})->normalization, Normalization::kPerSecond)
      << "several runs tell how far they lie apart";
}

TEST(Diff, AnImpossibleNormalizationIsRejectedWithASuggestion) {
  const model::Profile a = program(3, 20);
  for (const Normalization normalization : {Normalization::kWork, Normalization::kPerSecond}) {
    model::Profile timeless = a;
    timeless.meta.end_ns = timeless.meta.start_ns;
    DiffOptions options;
    options.normalization = normalization;
    const Result<DiffReport> report = make_diff({run(a)}, {run(timeless)}, options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
    EXPECT_FALSE(report.error().remedy.empty());
  }
  DiffOptions heap;
  heap.metric = model::Metric::kHeapLive;
  EXPECT_EQ(make_diff({run(a)}, {run(a)}, heap).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::analysis
