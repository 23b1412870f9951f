// How often the interval contains the true value: samples thousands of dumps as jemalloc does, from a heap
// with known contents.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/core/heap.h"
#include "formats/dumps/merge.h"

namespace fathom::dumps {
namespace {

constexpr std::uint64_t kMean = 16 * 1024;

struct Site {
  std::uint64_t blocks, size;
};

// The expected distance to the next sample is the same before and after any allocation, so each block is
// sampled independently. Since version 5.3, jemalloc prints for n sampled blocks the pair that gives n / p
// after unbiasing.
std::uint64_t sampled(const Site& site, std::mt19937_64& random) {
  const double seen = -std::expm1(-static_cast<double>(site.size) / kMean);
  return std::binomial_distribution<std::uint64_t>(site.blocks, seen)(random);
}

struct Coverage {
  int inside = 0, dumps = 0;
  double percent() const { return 100.0 * inside / dumps; }
};

Coverage coverage_of(const std::vector<Site>& sites, int dumps, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  double truth = 0;
  for (const Site& site : sites) truth += static_cast<double>(site.blocks * site.size);
  Coverage coverage;
  for (int i = 0; i < dumps; ++i) {
    std::string text = fmt::format("heap_v2/{}\n  t*: 1: 1 [0: 0]\n", kMean);
    std::uint64_t address = 0x1000;
    for (const Site& site : sites)
      if (const std::uint64_t objects = sampled(site, random); objects != 0)
        text += fmt::format("@ {:#x}\n  t*: {}: {} [0: 0]\n", address += 64, objects, objects * site.size);
    text += "\nMAPPED_LIBRARIES:\n";
    std::vector<DumpFile> files;
    files.push_back({"x.1.0.i0.heap", {}, 0, formats::read_heap_dump(text, "x").value()});
    const auto profile = merge_dumps(files, {}, {}, {});
    if (!profile) continue;  // no block was sampled
    const analysis::HeapAmount live = analysis::HeapSums(*profile, {}).total().live.bytes;
    ++coverage.dumps;
    if (std::fabs(live.value - truth) <= live.error()) ++coverage.inside;
  }
  return coverage;
}

// The promise is 95 of 100. With four samples on average, one dump in fifty has none and gives no interval.
TEST(IntervalsOfDumps, ContainTheTrueValueInNinetyThreeOfAHundredCases) {
  const std::vector<std::pair<const char*, std::vector<Site>>> heaps{
      {"four samples", {{300, 224}}},
      {"fourteen samples", {{1'000, 224}}},
      {"forty samples", {{3'000, 224}}},
      {"thousands of samples", {{200'000, 224}}},
      {"blocks as large as the mean", {{50, kMean}}},
      {"many small sites", std::vector<Site>(40, Site{200, 320})},
      {"large and small", {{2'000, 96}, {500, 1'024}, {60, 8'192}, {4, 3 << 20}}},
  };
  for (const auto& [what, sites] : heaps) {
    const Coverage coverage = coverage_of(sites, 1'000, 7);
    EXPECT_GE(coverage.percent(), 93) << what;
    EXPECT_GE(coverage.dumps, 950) << what;
  }
}

}  // namespace
}  // namespace fathom::dumps
