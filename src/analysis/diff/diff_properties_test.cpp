// Properties of every comparison, for any recordings, metric, filter and fold: a side does not differ from
// itself, exchanging the sides flips every sign, sums of differences are differences of sums, and every
// figure is a number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/diff/diff.h"
#include "analysis/diff/power.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

struct Case {
  model::Profile base, fresh;
  std::vector<Selection> selections;  // applied to both sides
  DiffOptions options;
};

std::vector<Selection> selections_of(const model::Profile& profile) {
  std::vector<Selection> selections(4);
  selections[1].to_ns = 5'000;
  selections[2].from_ns = 3'000;
  if (!profile.threads.empty()) selections[3].thread = std::to_string(profile.threads.front().tid);
  return selections;
}

// Calls test(report, report of the exchanged sides) for every possible comparison.
template <class Test>
void for_each_comparison(const Test& test) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 500);
    for (int metric = 0; metric <= static_cast<int>(model::kLastMetric); ++metric) {
      for (const Selection& selection : selections_of(a)) {
        for (const Normalization normalization : {Normalization::kAbsolute, Normalization::kShare}) {
          for (const bool fold : {false, true}) {
            DiffRun base, fresh;
            base.profile = &a;
            fresh.profile = &b;
            base.selection = fresh.selection = selection;
            DiffOptions options;
            options.metric = static_cast<model::Metric>(metric);
            options.normalization = normalization;
            options.fold_generics = fold;
            const Result<DiffReport> there = make_diff({base}, {fresh}, options);
            const Result<DiffReport> back = make_diff({fresh}, {base}, options);
            ASSERT_EQ(there.has_value(), back.has_value());
            if (!there) continue;
            ++compared;
            SCOPED_TRACE("seed " + std::to_string(seed) + ", " +
                         std::string(model::to_string(options.metric)));
            test(*there, *back);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 100);
}

template <class Take>
void for_each_change(const DiffReport& report, const Take& take) {
  take("whole", report.whole);
  for (const DiffRow& row : report.rows) {
    take("self " + row.name + " " + row.module, row.self);
    take("total " + row.name + " " + row.module, row.total);
  }
  for (const DiffGroup& group : report.modules) take("module " + group.name, group.self);
  for (const DiffGroup& group : report.threads) take("thread " + group.name, group.self);
  for (const DiffGroup& group : report.causes) take("cause " + group.name, group.self);
}

// Sums of values near 2^63 have a precision of 53 bits.
double near(const DiffReport& report) {
  return 1e-9 * (std::fabs(report.whole.base) + std::fabs(report.whole.fresh)) + 1e-12;
}

TEST(DiffProperties, EveryFigureIsANumber) {
  for_each_comparison([](const DiffReport& report, const DiffReport&) {
    for_each_change(report, [](const std::string& name, const Change& change) {
      for (const double value : {change.base, change.fresh, change.change, change.sd, change.p, change.error})
        ASSERT_TRUE(std::isfinite(value)) << name;
      ASSERT_GE(change.p, 0) << name;
      ASSERT_LE(change.p, 1) << name;
      ASSERT_GE(change.error, 0) << name;
    });
    const Power power = power_of(report, report.whole, 0.01);
    EXPECT_TRUE(std::isfinite(power.detected) && std::isfinite(power.seconds) &&
                std::isfinite(power.times_longer));
    for (const DiffSide* side : {&report.base, &report.fresh})
      EXPECT_TRUE(side->unmatched >= 0 && side->unmatched <= 1) << side->unmatched;
  });
}

TEST(DiffProperties, ExchangingTheSidesFlipsEverySign) {
  for_each_comparison([](const DiffReport& there, const DiffReport& back) {
    // Two rows have the same name if their modules have the same name.
    std::map<std::string, std::vector<std::pair<double, bool>>> forward, backward;
    for_each_change(there, [&](const std::string& name, const Change& change) {
      forward[name].emplace_back(change.change, change.beyond_noise);
    });
    for_each_change(back, [&](const std::string& name, const Change& change) {
      backward[name].emplace_back(0 - change.change, change.beyond_noise);
    });
    for (auto* all : {&forward, &backward}) {
      for (auto& [name, changes] : *all) std::sort(changes.begin(), changes.end());
    }
    ASSERT_EQ(there.looked_at, back.looked_at);
    ASSERT_EQ(forward.size(), backward.size());
    for (const auto& [name, changes] : forward) {
      const auto& others = backward[name];
      ASSERT_EQ(changes.size(), others.size()) << name;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        EXPECT_NEAR(changes[i].first, others[i].first, near(there)) << name;
        EXPECT_EQ(changes[i].second, others[i].second) << name;
      }
    }
  });
}

TEST(DiffProperties, SumsOfDifferencesAreTheDifferenceOfSums) {
  for_each_comparison([](const DiffReport& report, const DiffReport&) {
    const NodeFigures figures = node_figures(report);
    double nodes = 0, threads_own = 0, rows = 0, modules = 0, threads = 0;
    for (std::size_t node = 0; node < report.tree.nodes.size(); ++node) {
      const double change = figures.fresh[node] - figures.base[node];
      nodes += change;
      // Values without a stack belong to their thread alone.
      const UnionNode& of = report.tree.nodes[node];
      const NodeKind owner = of.kind == NodeKind::kCause ? report.tree.nodes[of.parent].kind : of.kind;
      if (owner == NodeKind::kThread || owner == NodeKind::kRoot) threads_own += change;
    }
    for (const DiffRow& row : report.rows) rows += row.self.change;
    for (const DiffGroup& group : report.modules) modules += group.self.change;
    for (const DiffGroup& group : report.threads) threads += group.self.change;
    EXPECT_NEAR(nodes, report.whole.change, near(report));
    EXPECT_NEAR(rows + threads_own, report.whole.change, near(report));
    EXPECT_NEAR(modules, report.whole.change, near(report));
    if (!report.threads.empty()) {
      EXPECT_NEAR(threads, report.whole.change, near(report));
    }
  });
}

TEST(DiffProperties, ASideAndItselfDoNotDiffer) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    for (int metric = 0; metric <= static_cast<int>(model::kLastMetric); ++metric) {
      for (const Selection& selection : selections_of(profile)) {
        for (const bool fold : {false, true}) {
          DiffRun run;
          run.profile = &profile;
          run.selection = selection;
          DiffOptions options;
          options.metric = static_cast<model::Metric>(metric);
          options.normalization = Normalization::kAbsolute;
          options.fold_generics = fold;
          for (const std::size_t runs : {1u, 3u}) {
            const std::vector<DiffRun> side(runs, run);
            const Result<DiffReport> report = make_diff(side, side, options);
            if (!report) continue;
            for_each_change(*report, [](const std::string& name, const Change& change) {
              EXPECT_EQ(change.change, 0) << name;
              EXPECT_FALSE(change.beyond_noise) << name;
            });
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fathom::analysis
