// Comparing waits: time without a CPU belongs to no function, the number of waits is compared apart from
// their length, and delays by a busy machine in single runs do not count as changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/core/hand_made_profile.h"
#include "analysis/diff/diff.h"
#include "analysis/diff/fail_condition.h"
#include "analysis/diff/totals.h"

namespace fathom::analysis {
namespace {

struct Waiter {
  int waits = 200;
  double each_ms = 5;    // waiting for a lock
  double queued_ms = 0;  // after each wait, for a CPU
  double ran_s = 1;
  bool sleeps = false;  // instead of waiting for a lock
};

std::int32_t number_of(std::string_view call) {
  std::int32_t number = 0;
  while (model::system_call_name(number) != call) ++number;
  return number;
}

model::Profile waiting(const Waiter& waiter, unsigned seed = 1) {
  static const std::int32_t kNanosleep = number_of("clock_nanosleep");
  HandMade hand;
  model::Profile& profile = hand.profile;
  profile.meta.facts.insert({{"command", "app"}, {"exit", "0"}});
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto stack = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"locked"})});
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> around(0.5, 1.5);
  double at_s = 0.001;
  for (int i = 0; i < waiter.waits; ++i) {
    model::Wait wait;
    wait.start_ns = profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9);
    wait.waited_ns = static_cast<std::uint64_t>(waiter.each_ms * around(random) * 1e6);
    wait.queued_ns = static_cast<std::uint64_t>(waiter.queued_ms * around(random) * 1e6);
    wait.thread = thread;
    wait.stack = stack;
    wait.state = model::WaitState::kInterruptible;
    if (waiter.sleeps) wait.system_call = kNanosleep;
    profile.waits.push_back(wait);
    at_s += static_cast<double>(wait.waited_ns + wait.queued_ns) * 1e-9 + waiter.ran_s / waiter.waits;
    profile.threads[0].queued_ns += wait.queued_ns;
    profile.threads[0].waited_ns += wait.waited_ns;
  }
  profile.threads[0].ran_ns = static_cast<std::uint64_t>(waiter.ran_s * 1e9);
  profile.meta.end_ns = profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9);
  return std::move(profile);
}

struct Compared {
  DiffReport report;
  std::vector<Total> totals;
  const Total& total(TotalKind kind) const {
    return *std::find_if(totals.begin(), totals.end(),
                         [&](const Total& total) { return total.kind == kind; });
  }
  bool any_change() const {
    const auto loud = [](const DiffRow& row) { return row.self.beyond_noise || row.total.beyond_noise; };
    return report.whole.beyond_noise || std::any_of(report.rows.begin(), report.rows.end(), loud) ||
           std::any_of(report.causes.begin(), report.causes.end(),
                       [](const DiffGroup& group) { return group.self.beyond_noise; });
  }
};

Compared compare(const Waiter& before, const Waiter& after, unsigned seed = 1) {
  const model::Profile base = waiting(before, seed), fresh = waiting(after, seed + 1000);
  DiffRun a, b;
  a.profile = &base;
  b.profile = &fresh;
  DiffOptions options;
  options.metric = model::Metric::kOffCpu;
  Compared compared{make_diff({a}, {b}, options).value(), {}};
  compared.totals = make_totals({a}, {b}, {});
  return compared;
}

TEST(DiffWaits, TimeWithoutACpuBelongsToNoFunction) {
  const Compared none = compare({.queued_ms = 0}, {.queued_ms = 0}),
                 much = compare({.queued_ms = 0}, {.queued_ms = 40});
  for (const Compared* compared : {&none, &much}) {
    EXPECT_NEAR(compared->report.whole.fresh, 1e9, 0.1e9);
    for (const DiffRow& row : compared->report.rows) EXPECT_NEAR(row.total.fresh, 1e9, 0.1e9) << row.name;
    for (const DiffGroup& group : compared->report.causes) EXPECT_NE(group.name, frame_of(Cause::kRunQueue));
  }
  const Total& queue = much.total(TotalKind::kQueue);
  EXPECT_NEAR(queue.change.fresh, 8e9, 0.8e9);
  EXPECT_FALSE(queue.change.looked_at) << "others decide it";
}

TEST(DiffWaits, TheNumberOfWaitsIsComparedApartFromTheirLength) {
  const Compared longer = compare({.each_ms = 5}, {.each_ms = 12}),
                 more = compare({.waits = 200}, {.waits = 480});
  EXPECT_FALSE(longer.total(TotalKind::kWaits).change.beyond_noise);
  EXPECT_TRUE(longer.report.whole.beyond_noise);
  EXPECT_TRUE(more.total(TotalKind::kWaits).change.beyond_noise);
  EXPECT_EQ(more.total(TotalKind::kWaits).change.fresh, 480);
}

// Nine of twenty equal pairs were called changed: peers waited for a CPU, which delayed the threads that
// waited for them.
TEST(DiffWaits, EqualRunsOnABusyMachineRaiseFewAlarms) {
  int alarms = 0;
  std::mt19937 random(7);
  std::lognormal_distribution<double> machine(0, 0.3);
  for (unsigned pair = 0; pair < 100; ++pair) {
    // The peer and the program itself get about a fifth of a CPU each, and this share varies from run to run.
    const Waiter before{.each_ms = 5 * machine(random), .queued_ms = 20 * machine(random)},
        after{.each_ms = 5 * machine(random), .queued_ms = 20 * machine(random)};
    const Compared compared = compare(before, after, pair);
    alarms += compared.any_change() || compared.total(TotalKind::kWaits).change.beyond_noise ? 1 : 0;
  }
  EXPECT_LE(alarms, 2);
}

TEST(DiffWaits, AWaitTwiceAsLongOnAFreeMachineIsFound) {
  int seen = 0;
  for (unsigned pair = 0; pair < 20; ++pair)
    seen += compare({.each_ms = 5}, {.each_ms = 10}, pair).report.whole.beyond_noise ? 1 : 0;
  EXPECT_EQ(seen, 20);
}

// Ten times as many waits passed every check on a machine with load 8: others might have let base wait less
// often. They cannot: a run ten times as long does not end after a fixed time.
TEST(DiffWaits, NoLoadHidesAFactorInTheNumberOfWaits) {
  for (const bool sleeps : {true, false}) {
    const Waiter before{.waits = 60, .each_ms = 1, .queued_ms = 10, .ran_s = 0.06, .sleeps = sleeps};
    Waiter after = before;
    after.waits = 600;
    after.ran_s = 0.6;
    const Compared compared = compare(before, after);
    EXPECT_EQ(failures_of(compared.totals, parse_fail_condition("waits > +20%").value()).size(), 1u);
    EXPECT_EQ(failures_of(compared.totals, parse_fail_condition("elapsed > +20%").value()).size(), 1u);
    EXPECT_TRUE(compared.report.whole.beyond_noise) << "ten times as long";
  }
}

// A program that ends after a fixed time waits less often if it gets less CPU time.
TEST(DiffWaits, OfRunsOfOneLengthOthersMayDecideTheNumberOfWaits) {
  const Compared compared =
      compare({.waits = 300, .queued_ms = 15, .ran_s = 1}, {.waits = 600, .queued_ms = 5, .ran_s = 1});
  EXPECT_FALSE(compared.total(TotalKind::kWaits).change.beyond_noise);
}

// Sleeping more often and longer is the program's doing on any machine.
TEST(DiffWaits, OtherProgramsDoNotProlongASleep) {
  const Waiter before{.waits = 100, .each_ms = 4, .queued_ms = 40, .ran_s = 0.1, .sleeps = true};
  Waiter after = before;
  after.waits = 150;
  after.each_ms = 6;
  EXPECT_TRUE(compare(before, after).report.whole.beyond_noise);
  Waiter locks = before, longer = after;
  locks.sleeps = longer.sleeps = false;
  EXPECT_FALSE(compare(locks, longer).report.whole.beyond_noise) << "a peer waited for a CPU";
}

TEST(DiffWaits, AConditionOfACauseIsAboutWaits) {
  const Compared compared = compare({.each_ms = 5, .sleeps = true}, {.each_ms = 10, .sleeps = true});
  const FailCondition condition = parse_fail_condition("cause > +20% : sleep").value();
  ASSERT_EQ(failures_of(compared.report, condition).size(), 1u);
  EXPECT_NE(failures_of(compared.report, condition)[0].name.find("sleep"), std::string::npos);
}

// "Waits (sleep) 100 -> 0, gone" of a recording that only has CPU time.
TEST(DiffWaits, ARecordingWithoutWaitsHasNotLostThem) {
  const model::Profile with = waiting({});
  model::Profile without = with;
  without.waits.clear();
  model::Profile quiet = without;  // waits were recorded, and there was none
  without.threads[0].ran_ns = without.threads[0].waited_ns = without.threads[0].queued_ns = 0;
  DiffRun a, b, c;
  a.profile = &with;
  b.profile = &without;
  c.profile = &quiet;
  for (const model::Metric metric : {model::Metric::kOffCpu, model::Metric::kWall}) {
    DiffOptions options;
    options.metric = metric;
    EXPECT_FALSE(make_diff({a}, {b}, options));
    EXPECT_FALSE(make_diff({b}, {a}, options));
    EXPECT_TRUE(make_diff({a}, {c}, options));
  }
  const auto any_waits = [](const std::vector<Total>& totals) {
    return std::ranges::any_of(totals, [](const Total& total) {
      return total.kind == TotalKind::kWaits || total.kind == TotalKind::kQueue;
    });
  };
  EXPECT_FALSE(any_waits(make_totals({a}, {b}, {})));
  EXPECT_TRUE(any_waits(make_totals({a}, {c}, {})));
}

}  // namespace
}  // namespace fathom::analysis
