// How often the truth lies in the interval: dumps are sampled here as jemalloc samples, by the thousand, from a heap that is known.
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

// The countdown to the next sample is as long after any allocation as before it, so each block is sampled by itself. Since 5.3 jemalloc
// prints for n sampled blocks the pair that gives n / p when it is unbiased.
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
    if (!profile) continue;  // nothing was sampled at all
    const analysis::HeapAmount live = analysis::HeapSums(*profile, {}).total().live.bytes;
    ++coverage.dumps;
    if (std::fabs(live.value - truth) <= live.error()) ++coverage.inside;
  }
  return coverage;
}

// 95 of 100 are promised. With four samples on average one dump in fifty has none, and says nothing.
TEST(IntervalsOfDumps, HoldTheTruthInNinetyThreeOfAHundred) {
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
