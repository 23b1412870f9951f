// Dumps that the real jemalloc wrote of blocks that are known: how often the truth lies in our interval, and that the mean of
// our estimates is the truth.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "analysis/core/heap.h"
#include "base/files.h"
#include "formats/dumps/merge.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

constexpr int kDumps = 1'200;
constexpr const char* kJemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

struct Site {
  double blocks, size;
  int inside = 0, dumps = 0;
  double sum = 0;  // of estimates in bytes
  double truth() const { return blocks * size; }
};

class JemallocDumps : public testing::Test {
 protected:
  // A dump's values for the known sites, which differ in the size of their blocks.
  void look_at(const std::string& path) {
    auto text = read_file(path);
    ASSERT_TRUE(text) << path;
    auto dump = formats::read_heap_dump(*text, path);
    ASSERT_TRUE(dump) << dump.error().message;
    std::vector<dumps::DumpFile> files;
    files.push_back({path, {}, 0, std::move(*dump)});
    const auto profile = dumps::merge_dumps(files, {}, {}, {});
    ASSERT_TRUE(profile) << profile.error().message;
    const analysis::HeapSums sums(*profile, {});
    for (const analysis::HeapSiteSums& row : sums.sites()) {
      for (Site& site : sites_) {
        if (std::fabs(row.live.bytes.value / row.live.blocks.value - site.size) > site.size / 50) continue;
        ++site.dumps;
        site.sum += row.live.bytes.value;
        if (std::fabs(row.live.bytes.value - site.truth()) <= row.live.bytes.error()) ++site.inside;
      }
    }
  }

  TempDir folder_;
  std::vector<Site> sites_{{20'000, 96}, {200, 4'096}, {40, 20'480}};
};

// 95 of 100 are expected for each site. All of them together are enough that chance alone does not fail the
// test.
TEST_F(JemallocDumps, HoldTheTruthInNinetyThreeOfAHundred) {
  if (!std::filesystem::exists(kJemalloc)) GTEST_SKIP() << "needs libjemalloc2, which is not installed";
  const Outcome outcome =
      run({"/usr/bin/env", std::string("LD_PRELOAD=") + kJemalloc, "MALLOC_CONF=prof:true,lg_prof_sample:14",
           JEMALLOC_DUMPS, folder_ / "", std::to_string(kDumps)},
          {.limit = std::chrono::seconds(60)});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  for (int i = 0; i < kDumps; ++i) look_at(folder_ / (std::to_string(i) + ".heap"));
  int inside = 0;
  for (const Site& site : sites_) {
    ASSERT_EQ(site.dumps, kDumps) << site.size;
    EXPECT_NEAR(site.sum / kDumps / site.truth(), 1, 0.04) << site.size;
    inside += site.inside;
  }
  EXPECT_GE(100.0 * inside / (kDumps * static_cast<double>(sites_.size())), 93);
}

}  // namespace
}  // namespace fathom::support
