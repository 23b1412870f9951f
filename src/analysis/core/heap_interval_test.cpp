// The interval of what is live holds the truth in at least 93 of 100 recordings: sites whose blocks are sampled as
// the tracer does, each with its own probability, and of which five samples and more are expected.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "analysis/core/heap.h"

namespace fathom::analysis {
namespace {

using Sizes = std::function<double(double unit, double mean_bytes)>;  // of a block, by a number from 0 to 1

struct Coverage {
  double blocks = 0, bytes = 0;  // shares of the recordings
};

double next_unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

Coverage coverage_of(const Sizes& size_of, std::uint32_t mean_bytes, double expected_samples) {
  constexpr int kRecordings = 2000;
  std::mt19937_64 random(expected_samples < 1 ? 1 : static_cast<std::uint64_t>(expected_samples * 1000));
  std::vector<std::pair<std::uint64_t, double>> blocks;  // sizes and probabilities
  HeapAmounts truth;
  for (double expected = 0; expected < expected_samples;) {
    const auto size = static_cast<std::uint64_t>(size_of(next_unit(random), mean_bytes));
    const double seen = -std::expm1(-static_cast<double>(size) / mean_bytes);
    blocks.emplace_back(size, seen);
    expected += seen;
    truth.blocks.value += 1;
    truth.bytes.value += static_cast<double>(size);
  }
  int blocks_hold = 0, bytes_hold = 0;
  for (int i = 0; i < kRecordings; ++i) {
    HeapAmounts live;
    for (const auto& [size, seen] : blocks) {
      if (next_unit(random) >= seen) continue;
      const model::HeapWeight weight = model::weight_of(size, mean_bytes);
      live.blocks.add({weight.sum.blocks, weight.variance.blocks});
      live.bytes.add({weight.sum.bytes, weight.variance.bytes});
    }
    const auto holds = [](const HeapAmount& amount, const HeapAmount& what) {
      return std::fabs(amount.value - what.value) <= amount.error() + 1e-6 * what.value;
    };
    blocks_hold += holds(live.blocks, truth.blocks) ? 1 : 0;
    bytes_hold += holds(live.bytes, truth.bytes) ? 1 : 0;
  }
  return {static_cast<double>(blocks_hold) / kRecordings, static_cast<double>(bytes_hold) / kRecordings};
}

constexpr double kPromise = 0.93;
constexpr double kExpected[] = {5, 5.5, 6, 6.2, 7, 7.5, 8, 9, 10, 12, 15, 20, 30};

class HeapInterval : public testing::TestWithParam<std::uint32_t> {};

// Of larger blocks nearly all are sampled, and few numbers are possible: there it is 89 of 100 at worst.
TEST_P(HeapInterval, HoldsBlocksAndBytesOfBlocksOfOneSize) {
  for (const double part : {0.01, 0.1, 0.5, 1.0})
    for (const double expected : kExpected) {
      const Coverage found =
          coverage_of([&](double, double mean) { return part * mean; }, GetParam(), expected);
      EXPECT_GE(found.blocks, kPromise) << expected << " samples of blocks of " << part << " means";
      EXPECT_GE(found.bytes, kPromise) << expected << " samples of blocks of " << part << " means";
    }
}

// Their number of blocks has no guarantee: a thousand tiny ones weigh no more than one sampled block.
TEST_P(HeapInterval, HoldsTheBytesOfBlocksOfManySizes) {
  for (const double expected : kExpected) {
    const auto any = [](double unit, double mean) { return 64 * std::pow(mean / 64, unit); };
    EXPECT_GE(coverage_of(any, GetParam(), expected).bytes, kPromise) << expected << " samples, of any size";
    const auto two = [](double unit, double mean) { return unit < 0.005 ? mean / 2 : 500; };
    EXPECT_GE(coverage_of(two, GetParam(), expected).bytes, kPromise) << expected << " samples, of two sizes";
  }
}

INSTANTIATE_TEST_SUITE_P(MeanDistances, HeapInterval, testing::Values(64u << 10, 512u << 10),
                         [](const auto& mean) { return std::to_string(mean.param >> 10) + "KiB"; });

TEST(HeapAmountError, IsThatOfANormalDistributionForManySamples) {
  const HeapAmount amount{1e6, 1e8};  // ten thousand samples of a weight of 100
  EXPECT_NEAR(amount.error(), 1.96 * 1e4, 0.01 * 1e4);
}

TEST(HeapAmountError, OfADifferenceIsNotThatOfItsFewBytes) {
  EXPECT_NEAR((HeapAmount{10, 1e8}.error()), 1.96 * 1e4, 0.01 * 1e4);
}

TEST(HeapAmountError, OfWhatEveryCallWasSeenIsNone) {
  EXPECT_EQ((HeapAmount{1e6, 0}.error()), 0);
  EXPECT_EQ((HeapAmount{0, 0}.error()), 0);
}

}  // namespace
}  // namespace fathom::analysis
