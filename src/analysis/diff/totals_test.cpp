#include "analysis/diff/totals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/diff/fail_condition.h"
#include "analysis/diff/hand_made_sides.h"
#include "analysis/diff/measured_runs.h"

namespace fathom::analysis {
namespace {

std::vector<Total> totals_between(const model::Profile& base, const model::Profile& fresh,
                                  const DiffOptions& options = {}) {
  DiffRun a, b;
  a.profile = &base;
  b.profile = &fresh;
  return make_totals({a}, {b}, {compare_sides(base, fresh, options)});
}

const Total* find(const std::vector<Total>& totals, TotalKind kind) {
  for (const Total& total : totals)
    if (total.kind == kind) return &total;
  return nullptr;
}

bool fails(const model::Profile& base, const model::Profile& fresh, const char* condition) {
  DiffOptions options;
  options.whole_matters = true;
  return !failures_of(compare_sides(base, fresh, options), parse_fail_condition(condition).value()).empty();
}

// Up to nine samples in ten may be missing: the clock's total does not change, and functions are shares of
// it.
TEST(Totals, ComeFromTheClockForAnyNumberOfSamples) {
  for (const double sampled : {1.0, 0.5, 0.1}) {
    const model::Profile base = measured_run({.cpu_s = 2, .hot = 0.5, .sampled = sampled});
    const model::Profile fresh = measured_run({.cpu_s = 3, .hot = 0.6});
    const DiffReport report = compare_sides(base, fresh);
    ASSERT_TRUE(report.measured);
    EXPECT_NEAR(report.whole.base, 2e9, 1);
    EXPECT_NEAR(report.whole.fresh, 3e9, 1);
    double self = 0;
    for (const DiffRow& row : report.rows) {
      self += row.self.base;
      if (row.name == "hot") {
        EXPECT_NEAR(row.self.base, 1e9, 1e7) << sampled;
      }
    }
    EXPECT_NEAR(self, report.whole.base, 1) << "functions add up to the total";
  }
}

// On a machine with ten times as many threads as CPUs, slowdowns of 2.3 to 50 times passed as noise: the
// assumed effect of other programs was a fraction of the larger side, and grew with it.
TEST(Totals, NoLoadHidesAFactorInTheCpuTime) {
  for (const double waited : {0.0, 0.3, 0.9, 0.97}) {
    for (const double factor : {1.5, 2.0, 2.3, 10.0, 50.0}) {
      const model::Profile base = measured_run({.cpu_s = 1, .waited = waited});
      const model::Profile fresh = measured_run({.cpu_s = factor, .waited = waited});
      EXPECT_TRUE(fails(base, fresh, "total > +5%")) << factor << " times, waited " << waited;
      EXPECT_TRUE(fails(fresh, base, "total < -5%")) << factor << " times less, waited " << waited;
      EXPECT_FALSE(fails(base, base, "total > +5%")) << "waited " << waited;
      if (factor >= 2) {  // other programs do not slow all functions alike
        EXPECT_TRUE(fails(base, fresh, "total > +5% : ^hot$")) << factor << " times, waited " << waited;
      }
    }
  }
}

TEST(Totals, AFewPercentAreNoiseOnABusyMachineAndAChangeOnAFreeOne) {
  const model::Profile base = measured_run({.cpu_s = 4}), fresh = measured_run({.cpu_s = 4.3});
  EXPECT_TRUE(fails(base, fresh, "total > +5%"));
  const model::Profile busy_base = measured_run({.cpu_s = 4, .waited = 0.9});
  EXPECT_FALSE(fails(busy_base, measured_run({.cpu_s = 4.3, .waited = 0.9}), "total > +5%"));
}

// The CPU use of an attached recording is what other programs left to it: a lower rate, or a base that was
// held back, may be their effect. A change beyond that is real.
TEST(Totals, ARateOfAStarvedProgramIsComparedWithItsDemand) {
  const auto attached = [](double cpu_s, double waited) {
    return measured_run({.cpu_s = cpu_s, .waited = waited, .whole_run = false});
  };
  struct Row {
    double base_s, base_waited, new_s, new_waited;
    bool grew, fell;
  };
  for (const Row& row : std::vector<Row>{{2, 0, 8, 0, true, false},
                                         {2, 0.8, 8, 0, false, false},   // base wanted up to 10 s
                                         {2, 0.1, 8, 0.8, true, false},  // new wanted even more
                                         {8, 0, 2, 0, false, true},
                                         {8, 0, 2, 0.8, false, false},  // new wanted up to 10 s
                                         {8, 0.8, 2, 0.1, false, true}}) {
    const model::Profile base = attached(row.base_s, row.base_waited),
                         fresh = attached(row.new_s, row.new_waited);
    EXPECT_EQ(fails(base, fresh, "total > +5%"), row.grew) << row.base_s << " " << row.base_waited;
    EXPECT_EQ(fails(base, fresh, "total < -5%"), row.fell) << row.base_s << " " << row.base_waited;
  }
}

TEST(Totals, WallTimeNeedsWholeRunsAndDelaysByOtherProgramsAreNoChange) {
  const model::Profile free = measured_run({.cpu_s = 2}), held = measured_run({.cpu_s = 2, .waited = 0.8}),
                       slow = measured_run({.cpu_s = 20});
  const std::vector<Total> of_delay = totals_between(free, held), of_change = totals_between(free, slow);
  ASSERT_NE(find(of_delay, TotalKind::kWall), nullptr);
  EXPECT_NEAR(find(of_delay, TotalKind::kWall)->ratio->value, 5, 0.01);
  EXPECT_FALSE(find(of_delay, TotalKind::kWall)->change.beyond_noise);
  EXPECT_TRUE(find(of_change, TotalKind::kWall)->change.beyond_noise);
  const model::Profile attached = measured_run({.whole_run = false});
  EXPECT_EQ(find(totals_between(attached, attached), TotalKind::kWall), nullptr);
}

// Threads that waited for a CPU for a tenth of the run cannot have made it twice as long.
TEST(Totals, WallTimeIsDelayedByTheTimeWithoutACpuAndNoMore) {
  const auto sleeper = [](double wall_s) {
    model::Profile profile = measured_run({.cpu_s = 0.01, .waited = 0.9});
    profile.meta.end_ns = profile.meta.start_ns + static_cast<std::uint64_t>(wall_s * 1e9);
    return profile;
  };
  const model::Profile base = sleeper(1), slow = sleeper(2), same = sleeper(1.08);
  EXPECT_TRUE(find(totals_between(base, slow), TotalKind::kWall)->change.beyond_noise);
  EXPECT_FALSE(find(totals_between(base, same), TotalKind::kWall)->change.beyond_noise);
}

// "CPU time 137 ms → 0 s, gone" of a program with file capabilities that a user recorded: it used as much as
// before, but the kernel did not let it be sampled.
TEST(Totals, OfAProgramThatCouldNotBeSampledTheClockIsComparedAndNoFunction) {
  const auto hidden = [](double cpu_s) {
    model::Profile profile = measured_run({.cpu_s = cpu_s});
    profile.samples.clear();
    profile.quality.samples = 0;
    profile.meta.facts["not_sampled"] = "the kernel does not let this user sample it";
    return profile;
  };
  const model::Profile seen = measured_run({.cpu_s = 2}), same = hidden(2), twice = hidden(4);
  const std::vector<Total> of_same = totals_between(seen, same), of_twice = totals_between(seen, twice);
  ASSERT_NE(find(of_same, TotalKind::kCpu), nullptr);
  EXPECT_FALSE(find(of_same, TotalKind::kCpu)->sampled);
  EXPECT_NEAR(find(of_same, TotalKind::kCpu)->change.fresh, 2e9, 1);
  EXPECT_FALSE(find(of_same, TotalKind::kCpu)->change.beyond_noise);
  EXPECT_TRUE(find(of_twice, TotalKind::kCpu)->change.beyond_noise);
  EXPECT_FALSE(fails(seen, same, "total < -20%"));
  EXPECT_TRUE(fails(seen, twice, "total > +20%"));
  for (const auto& [base, fresh] : {std::pair(&seen, &same), std::pair(&same, &seen)}) {
    const DiffReport report = compare_sides(*base, *fresh, {});
    for (const DiffRow& row : report.rows) EXPECT_FALSE(row.self.looked_at || row.total.looked_at);
    ASSERT_FALSE(report.doubts.empty());
    EXPECT_EQ(report.doubts.back().kind, DoubtKind::kUnsampled);
  }
}

// "no metric is in both sides" of two runs in a container that allows no samples.
TEST(Totals, OfTwoProgramsThatCouldNotBeSampledTheClocksAreCompared) {
  const auto hidden = [](double cpu_s) {
    model::Profile profile = measured_run({.cpu_s = cpu_s});
    profile.samples.clear();
    profile.quality.samples = 0;
    profile.meta.facts["not_sampled"] = "this user may use neither BPF nor perf events here";
    return profile;
  };
  const model::Profile once = hidden(2), again = hidden(2.01), twice = hidden(4);
  const std::vector<Total> totals = totals_between(once, twice);
  ASSERT_NE(find(totals, TotalKind::kCpu), nullptr);
  EXPECT_NEAR(find(totals, TotalKind::kCpu)->ratio->value, 2, 1e-9);
  EXPECT_FALSE(find(totals, TotalKind::kCpu)->sampled);
  EXPECT_NE(find(totals, TotalKind::kWall), nullptr);
  EXPECT_TRUE(fails(once, twice, "total > +20%"));
  EXPECT_FALSE(fails(once, again, "total > +20%"));
  EXPECT_TRUE(compare_sides(once, twice).rows.empty());

  DiffRun base, fresh;
  base.profile = &once;
  fresh.profile = &twice;
  fresh.label = "new.fathom";
  fresh.selection.to_ns = 1'000'000'000;  // a clock only knows the total of the whole recording
  const Result<DiffReport> part = make_diff({base}, {fresh}, {});
  ASSERT_FALSE(part);
  EXPECT_NE(part.error().message.find("neither BPF nor perf"), std::string::npos) << part.error().message;
  DiffOptions per_cpu;
  per_cpu.normalization = Normalization::kCpuSecond;
  fresh.selection.to_ns.reset();
  EXPECT_FALSE(make_diff({base}, {fresh}, per_cpu));
}

TEST(Totals, SharesComeWithATotal) {
  DiffOptions options;
  options.normalization = Normalization::kShare;
  const std::vector<Total> totals =
      totals_between(measured_run({.cpu_s = 3.7}), measured_run({.cpu_s = 0.07}), options);
  const Total* cpu = find(totals, TotalKind::kCpu);
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->per, Normalization::kAbsolute);
  EXPECT_NEAR(1 / cpu->ratio->value, 52.9, 0.1);
  EXPECT_TRUE(cpu->change.beyond_noise);
}

TEST(Totals, CallsAreCountedNotSampled) {
  const auto counted = [](std::uint64_t calls) {
    model::Profile profile = measured_run({});
    model::Calls row;
    row.time_ns = profile.meta.start_ns + 1;
    row.function = {static_cast<std::uint32_t>(profile.functions.size() - 1)};
    row.calls = calls;
    profile.calls.push_back(row);
    return profile;
  };
  const std::vector<Total> totals = totals_between(counted(1000), counted(3000));
  EXPECT_EQ(find(totals_between(counted(1000), measured_run({})), TotalKind::kCalls), nullptr)
      << "not counted there";
  const Total* calls = find(totals, TotalKind::kCalls);
  ASSERT_NE(calls, nullptr);
  EXPECT_FALSE(calls->name.empty());
  EXPECT_EQ(calls->change.base, 1000);
  EXPECT_EQ(calls->change.fresh, 3000);
  EXPECT_TRUE(calls->change.beyond_noise);
}

TEST(Totals, ARatioLiesInItsIntervalAndExchangingTheSidesInvertsIt) {
  for (const double base_s : {0.1, 1.0, 3.7}) {
    for (const double new_s : {0.1, 0.5, 5.0}) {
      for (const double waited : {0.0, 0.5}) {
        const model::Profile base = measured_run({.cpu_s = base_s, .waited = waited}),
                             fresh = measured_run({.cpu_s = new_s, .waited = waited});
        const auto there = find(totals_between(base, fresh), TotalKind::kCpu)->ratio;
        const auto back = find(totals_between(fresh, base), TotalKind::kCpu)->ratio;
        ASSERT_TRUE(there && back);
        EXPECT_LT(there->low, there->value);
        EXPECT_GT(there->high, there->value);
        EXPECT_NEAR(there->value * back->value, 1, 1e-9);
        EXPECT_NEAR(there->low * back->high, 1, 1e-9);
      }
    }
  }
}

TEST(Totals, ASideWithNothingHasNoRatio) {
  EXPECT_FALSE(ratio_of({.base = 0, .fresh = 5}));
  EXPECT_FALSE(ratio_of({.base = 5, .fresh = 0}));
  EXPECT_FALSE(ratio_of({.base = -5, .fresh = 5})) << "a difference is no amount";
  EXPECT_FALSE(ratio_of({.base = 1e-300, .fresh = 1e300}));
}

// Peaks between two readings are missed.
TEST(Totals, APeakFromFewReadingsIsNotCompared) {
  const auto with_rss = [](int readings, double highest) {
    model::Profile profile = measured_run({});
    model::Builder builder(profile);
    model::Series series{builder.string("memory.rss_anon"), builder.string("bytes"), 10, {}};
    for (int i = 0; i < readings; ++i)
      series.points.push_back({profile.meta.start_ns + static_cast<std::uint64_t>(i) * 100'000'000,
                               i == readings / 2 ? highest : highest / 2});
    profile.series.push_back(series);
    return profile;
  };
  for (const int readings : {1, 2, 4, 5, 10}) {
    const std::vector<Total> totals = totals_between(with_rss(readings, 1e6), with_rss(readings, 9e6));
    const Total* rss = find(totals, TotalKind::kPeakRss);
    ASSERT_NE(rss, nullptr);
    EXPECT_DOUBLE_EQ(rss->change.base, 1e6);
    EXPECT_EQ(rss->change.beyond_noise, readings >= 5) << readings;
  }
}

// A comparison per request of a server with bursts of load had the error of the bursts.
TEST(Totals, AUnitOfWorkCostsTheSameUnderAnyLoad) {
  model::Profile uneven = measured_run({.cpu_s = 4, .whole_run = false});
  for (model::Sample& sample : uneven.samples)
    sample.time_ns =
        uneven.meta.start_ns + (sample.time_ns - uneven.meta.start_ns) / 2;  // idle in the second half
  DiffRun run;
  run.profile = &uneven;
  const double per_second = make_diff({run}, {run}, {}).value().whole.error / 0.4;
  run.work = 1000;
  const double of_work = make_diff({run}, {run}, {}).value().whole.error / 4e6;
  EXPECT_GT(per_second, 0.3);
  EXPECT_LT(of_work, 0.1);
}

// Lost samples may belong to any function; they do not affect a clock's total.
TEST(Totals, LossesWidenEveryFunctionButNotTheClock) {
  double before = -1;
  for (const std::uint64_t lost : {0u, 20u, 200u, 1000u}) {
    model::Profile base = measured_run({}), fresh = base;
    for (model::Profile* profile : {&base, &fresh}) profile->quality.lost_ring_full = lost;
    const DiffReport report = compare_sides(base, fresh);
    double hot = 0;
    for (const DiffRow& row : report.rows)
      if (row.name == "hot") hot = row.self.error;
    EXPECT_GT(hot, before) << lost;
    before = hot;
    EXPECT_DOUBLE_EQ(report.whole.error, compare_sides(measured_run({}), measured_run({})).whole.error)
        << lost;
  }
}

}  // namespace
}  // namespace fathom::analysis
