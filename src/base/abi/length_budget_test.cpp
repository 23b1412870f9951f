// How many waits are walked where their length is known: for CPUs and threads with waits of any number and length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "base/abi/walk_budget.h"

namespace fathom {
namespace {

constexpr u32 kOfThread = 50, kOfCpu = 50;
constexpr u64 kUs = 1000, kMs = 1000 * kUs;

struct Kind {
  u32 in_a_window;
  u64 length_ns;
};

// One CPU and its threads, each with waits of these kinds; window after window.
class Machine {
 public:
  explicit Machine(std::vector<std::vector<Kind>> threads)
      : kinds_(std::move(threads)), threads_(kinds_.size()) {}

  struct Sums {
    double walks = 0, waits = 0, ns = 0, true_waits = 0, true_ns = 0, variance = 0;
    double long_walks = 0, long_waits = 0;  // of those that are as long as the longest
  };
  // Each wait comes at its time, those of all threads mixed.
  Sums window() {
    struct Wait {
      std::size_t thread;
      u64 length_ns, longest_ns;
    };
    std::vector<Wait> waits;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      u64 longest = 0;
      for (const Kind& kind : kinds_[i]) longest = std::max(longest, kind.length_ns);
      for (const Kind& kind : kinds_[i])
        for (u32 n = 0; n < kind.in_a_window; ++n) waits.push_back({i, kind.length_ns, longest});
    }
    std::shuffle(waits.begin(), waits.end(), random_);
    Sums sums;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const Wait& wait = waits[i];
      const u64 now = now_ + WALK_WINDOW_NS * i / waits.size();
      length_rate& thread = threads_[wait.thread];
      roll_length_rate(&thread, kOfThread, now);
      const u32 of_cpu = count_wait_on_cpu(&cpu_, kOfCpu, now);
      const u32 one_in = one_in_of_wait(&thread, &cpu_.rate, wait.length_ns);
      EXPECT_GE(one_in, 1u);
      EXPECT_LE(one_in, MOST_IN_ONE);
      const bool is_long = wait.length_ns == wait.longest_ns;
      const double ns = static_cast<double>(wait.length_ns);
      sums.true_waits += 1;
      sums.true_ns += ns;
      sums.long_waits += is_long;
      sums.variance += ns * ns * (one_in - 1.0);
      if (random_() % one_in != 0) continue;
      count_walk_of_length(&thread, kOfThread);
      count_walk_of_length(&cpu_.rate, of_cpu);
      sums.walks += 1;
      sums.waits += one_in;
      sums.ns += one_in * ns;
      sums.long_walks += is_long;
    }
    now_ += WALK_WINDOW_NS;
    return sums;
  }
  Sums settled(int windows = 40) {
    for (int i = 0; i < 30; ++i) window();
    Sums all;
    for (int i = 0; i < windows; ++i) {
      const Sums one = window();
      all.walks += one.walks / windows;
      for (double Sums::*field : {&Sums::waits, &Sums::ns, &Sums::true_waits, &Sums::true_ns, &Sums::variance,
                                  &Sums::long_walks, &Sums::long_waits})
        all.*field += one.*field;
    }
    return all;
  }

 private:
  std::vector<std::vector<Kind>> kinds_;
  std::vector<length_rate> threads_;
  cpu_length_rate cpu_{};
  std::mt19937 random_{7};
  u64 now_ = 1000 * WALK_WINDOW_NS;
};

const std::vector<std::vector<std::vector<Kind>>>& machines() {
  static const auto* all = new std::vector<std::vector<std::vector<Kind>>>{
      {{{10'000, 5 * kUs}}},                                        // a ping-pong
      {{{3'000, 10 * kUs}, {5, 8 * kMs}}},                          // short waits, and a few that matter
      {{{1, 100 * kMs}}, {{2'000, 20 * kUs}}, {{300, 300 * kUs}}},  // threads of three kinds
      std::vector<std::vector<Kind>>(40, {{70, 200 * kUs}, {10, 3 * kMs}}),  // a loaded server
      std::vector<std::vector<Kind>>(1000, {{8, 10 * kMs}}),                 // a thousand timers
      {{{60, 1 * kMs}}},                                                     // just above the budget
  };
  return *all;
}

TEST(LengthBudget, SumsAreRightOnAverageForWaitsOfAnyLength) {
  for (const auto& threads : machines()) {
    const auto sums = Machine(threads).settled();
    EXPECT_NEAR(sums.ns, sums.true_ns, 4 * std::sqrt(sums.variance) + 1) << sums.true_waits;
    EXPECT_NEAR(sums.waits, sums.true_waits, 0.3 * sums.true_waits) << sums.true_waits;
  }
}

TEST(LengthBudget, SettledRatesStayNearTheBudgets) {
  for (const auto& threads : machines()) {
    const auto sums = Machine(threads).settled();
    const bool full = sums.true_waits > 40 * 2 * kOfCpu;
    EXPECT_LE(sums.walks, full ? 2 * (kOfCpu * 2 / 5 + 1) : 2 * kOfThread) << sums.true_waits;
    EXPECT_GE(sums.walks, full ? 0.5 * kOfCpu * 2 / 5 : 0.5 * kOfThread)
        << "a budget that is not used makes errors larger";
  }
}

TEST(LengthBudget, LongWaitsAreAllWalkedNextToManyShortOnes) {
  for (const u32 number : {100u, 1'000u, 10'000u}) {
    const auto sums = Machine({{{number, 5 * kUs}, {5, 8 * kMs}}}).settled();
    EXPECT_EQ(sums.long_walks, sums.long_waits) << number;
  }
}

TEST(LengthBudget, EveryWaitIsWalkedWhereTheyAreFew) {
  for (const u32 number : {1u, 10u, 25u}) {
    const auto sums = Machine({{{number, 1 * kUs}}, {{number, 5 * kMs}}}).settled();
    EXPECT_EQ(sums.waits, sums.true_waits);
    EXPECT_EQ(sums.ns, sums.true_ns);
  }
}

TEST(LengthBudget, TheWindowInWhichWaitsBecomeManyHasABound) {
  for (const u32 number : {1'000u, 100'000u}) {
    for (const u64 length : {1 * kUs, 100 * kUs}) {
      // Twice the budget, and one more for each time that the period becomes four times as long.
      const auto sums = Machine({{{number, length}}}).window();
      // So has the CPU's.
      const double steps = std::log2(4.0 * number * static_cast<double>(length) / kUs / kOfThread) / 2;
      EXPECT_LE(sums.walks, (4 + steps) * kOfThread) << number << " of " << length;
    }
  }
}

TEST(LengthBudget, AThreadThatWaitsSeldomIsSeenOnAFullCpu) {
  length_rate busy{}, seldom{}, cpu{};
  cpu.period_us = 10'000;
  busy.period_us = 1;
  EXPECT_EQ(one_in_of_wait(&busy, &cpu, 99 * kUs), 100u);
  EXPECT_EQ(one_in_of_wait(&seldom, &cpu, 99 * kUs), 6u);
  EXPECT_EQ(one_in_of_wait(&seldom, &cpu, 1 * kMs), 1u);
}

TEST(LengthBudget, AllIsWalkedAgainAfterAPause) {
  length_rate rate{};
  rate.window_ns = WALK_WINDOW_NS;
  rate.period_us = 100'000;
  rate.walks = kOfThread;
  roll_length_rate(&rate, kOfThread, WALK_WINDOW_NS * 25);
  EXPECT_EQ(rate.period_us, 0u);
  EXPECT_EQ(rate.before, 0u);
}

}  // namespace
}  // namespace fathom
