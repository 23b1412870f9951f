// What the intervals promise, tested on simulated programs whose true values are known: samples drawn at
// random, with fixed seeds. Equal pairs raise an alarm in at most 5 of 100; a function of 5 % that becomes
// 20 % slower is found and ranked first.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/core/hand_made_profile.h"
#include "analysis/diff/diff.h"

namespace fathom::analysis {
namespace {

constexpr int kSeconds = 20, kHz = 1000;

struct Program {
  std::vector<double> weights;  // CPU time of each function, in any unit
  int threads = 2;              // always busy
  double phase_s = 0;           // not 0: the functions take turns as the busiest one, for this long each
  double drift = 0;             // between runs, as a fraction of each function's weight
};

model::Profile record(const Program& program, std::mt19937& random) {
  HandMade hand;
  hand.profile.meta.frequency_hz = kHz;
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + std::uint64_t{kSeconds} * 1'000'000'000;
  const auto app = hand.module("app");
  const auto process = hand.process(10, "app");
  std::vector<model::StackId> stacks;
  std::vector<double> weights = program.weights;
  std::normal_distribution<double> normal;
  const auto main = hand.frame(app, {"main"});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    stacks.push_back(hand.stack({main, hand.frame(app, {"f" + std::to_string(i)})}));
    weights[i] *= 1 + program.drift * normal(random);
  }
  std::vector<std::discrete_distribution<std::size_t>> phases;
  for (std::size_t leader = 0; leader < (program.phase_s > 0 ? weights.size() : 1); ++leader) {
    std::vector<double> now = weights;
    if (program.phase_s > 0) now[leader] *= 4;
    phases.emplace_back(now.begin(), now.end());
  }
  for (int t = 0; t < program.threads; ++t) {
    const auto thread = hand.thread(process, 10 + t, "worker");
    // A recording begins at a random point in the program's phases.
    const double offset = std::uniform_real_distribution<double>(0, 1000)(random);
    for (int tick = 0; tick < kSeconds * kHz; ++tick) {
      const double time = offset + static_cast<double>(tick) / kHz;
      const std::size_t phase =
          program.phase_s > 0 ? static_cast<std::size_t>(time / program.phase_s) % phases.size() : 0;
      model::Sample sample;
      sample.time_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(tick) * (1'000'000'000 / kHz);
      sample.thread = thread;
      sample.stack = stacks[phases[phase](random)];
      hand.profile.samples.push_back(sample);
    }
  }
  return std::move(hand.profile);
}

DiffReport compare(const model::Profile& base, const model::Profile& fresh) {
  DiffRun a, b;
  a.profile = &base;
  b.profile = &fresh;
  return make_diff({a}, {b}, {}).value();
}

bool raises_an_alarm(const DiffReport& report) {
  const auto loud = [](const Change& change) { return change.beyond_noise; };
  if (loud(report.whole)) return true;
  for (const DiffRow& row : report.rows) {
    if (loud(row.self) || loud(row.total)) return true;
  }
  for (const auto* groups : {&report.modules, &report.threads, &report.causes}) {
    for (const DiffGroup& group : *groups) {
      if (loud(group.self)) return true;
    }
  }
  return false;
}

Program ordinary() {
  Program program;
  for (int i = 0; i < 40; ++i) program.weights.push_back(100.0 / (1 + i));
  return program;
}

int alarms(const Program& program, int pairs, unsigned seed) {
  std::mt19937 random(seed);
  int found = 0;
  for (int i = 0; i < pairs; ++i) {
    const model::Profile a = record(program, random), b = record(program, random);
    found += raises_an_alarm(compare(a, b)) ? 1 : 0;
  }
  return found;
}

TEST(DiffNoise, EqualPairsRaiseFewAlarms) {
  EXPECT_LE(alarms(ordinary(), 100, 1), 5);
}

TEST(DiffNoise, EqualPairsOfAProgramWithPhasesRaiseFewAlarms) {
  Program program = ordinary();
  program.phase_s = 0.7;
  EXPECT_LE(alarms(program, 100, 2), 5);
}

TEST(DiffNoise, EqualPairsWhoseRunsDifferByOnePercentRaiseFewAlarms) {
  Program program = ordinary();
  program.drift = kRunToRun;
  EXPECT_LE(alarms(program, 100, 3), 5);
}

TEST(DiffNoise, AFunctionOfFivePercentThatGetsAFifthSlowerIsFoundAndRankedFirst) {
  Program before = ordinary();
  double rest = 0;
  for (const double weight : before.weights) rest += weight;
  before.weights.push_back(rest * 5 / 95);
  Program after = before;
  after.weights.back() *= 1.2;
  const std::string planted = "f" + std::to_string(before.weights.size() - 1);
  std::mt19937 random(4);
  int first = 0;
  constexpr int kPairs = 100;
  for (int i = 0; i < kPairs; ++i) {
    const model::Profile a = record(before, random), b = record(after, random);
    const DiffReport report = compare(a, b);
    const auto found = std::find_if(report.rows.begin(), report.rows.end(), [](const DiffRow& row) {
      return row.self.beyond_noise && row.self.change > 0;
    });
    first += found != report.rows.end() && found->name == planted ? 1 : 0;
  }
  EXPECT_GE(first, kPairs * 95 / 100);
}

}  // namespace
}  // namespace fathom::analysis
