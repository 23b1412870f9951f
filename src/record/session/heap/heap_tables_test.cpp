#include "record/session/heap/heap_tables.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using namespace model;
using sources::heap::SiteKey;

struct Tables {
  Tables() {
    Builder builder(profile);
    builder.stack({0}, builder.frame({0}, {0x10}));
    profile.processes.push_back({});
    profile.threads.emplace_back().tid = 100;
    profile.heap.allocators.push_back({builder.string("glibc"), {0}});
  }
  static ThreadId thread_of(std::uint32_t tid) { return tid == 100 ? ThreadId{0} : kNoThread; }
  Profile profile;
};

sources::heap::SliceRow row(std::uint32_t site, double bytes) {
  sources::heap::SliceRow row;
  row.site = site;
  row.sums.allocated = {1, bytes};
  return row;
}

TEST(HeapTables, SitesOfASliceBecomeRowsOfStackAllocatorAndThread) {
  Tables tables;
  HeapTables heap(tables.profile, {});
  heap.allocator(2, {1});
  heap.stack(1, {1}, 1);
  sources::heap::Slice slice;
  slice.start_ns = 10;
  slice.end_ns = 20;
  slice.live = {2, 30};
  slice.new_sites = {SiteKey{}, SiteKey{1, 100, 2}, SiteKey{7, 5, 0}};  // stack 7 was never delivered
  slice.rows = {row(1, 10), row(2, 20)};
  heap.add(slice, Tables::thread_of);
  const auto checked = check(tables.profile);
  ASSERT_TRUE(checked) << checked.error().message;
  const auto& made = tables.profile.heap;
  EXPECT_EQ(made.heaps[0].end_ns, 20u);
  ASSERT_EQ(made.rows.size(), 2u);
  EXPECT_EQ(made.sites[made.rows[0].site.value], (HeapSite{{0}, {1}, {1}, {0}, 1}));
  EXPECT_EQ(made.sites[made.rows[1].site.value], (HeapSite{{0}, {0}, {0}, kNoThread, 0}));
  EXPECT_EQ(made.slices[0].live_bytes, 30);
}

// A program without calls was reported to have allocated nothing, instead of at most what the interval may
// miss.
TEST(HeapTables, TheIntervalIsKnownBeforeTheFirstSample) {
  Tables tables;
  model::Heap row;
  row.mode = model::HeapMode::kSampled;
  row.mean_bytes = 512 * 1024;
  HeapTables heap(tables.profile, row);
  heap.finish({}, {});
  EXPECT_EQ(tables.profile.heap.heaps[0].mean_bytes, 512u * 1024);
  sources::heap::Counters counters;
  counters.mean = 1024 * 1024;
  heap.finish({}, counters);
  EXPECT_EQ(tables.profile.heap.heaps[0].mean_bytes, 1024u * 1024) << "it had to sample less";
}

TEST(HeapTables, TwoNumbersOfOneStackAreOneSiteAndTheirSumsAddUp) {
  Tables tables;
  HeapTables heap(tables.profile, {});
  heap.stack(1, {1}, 1);
  heap.stack(2, {1}, 1);  // seen again after the mappings had changed
  sources::heap::Slice slice;
  slice.new_sites = {SiteKey{}, SiteKey{1, 0, 0}, SiteKey{2, 0, 0}};
  heap.add(slice, Tables::thread_of);
  EXPECT_EQ(tables.profile.heap.sites.size(), 2u);
  sources::heap::Summary summary;
  summary.peak = {2, 30};
  for (const std::uint32_t site : {1u, 2u}) {
    sources::heap::SiteSummary one;
    one.site = site;
    one.peak = {1, site * 10.0};
    one.sizes = {{5, {1, site * 10.0}}};
    one.live_usable = 16;
    if (site == 2) one.misuse.foreign = {1, 20};
    one.given_back = {1, 4096};
    summary.sites.push_back(one);
  }
  heap.finish(summary, {});
  heap.finish(summary, {});  // replaces what was there
  const auto& made = tables.profile.heap;
  ASSERT_EQ(made.summaries.size(), 1u);
  EXPECT_EQ(made.summaries[0].peak, (HeapSum{2, 30}));
  ASSERT_EQ(made.histograms.size(), 1u);
  EXPECT_EQ(made.histograms[0].sum, (HeapSum{2, 30}));
  EXPECT_EQ(made.heaps[0].peak_bytes, 30);
  EXPECT_EQ(made.uses, (std::vector<HeapUse>{{made.summaries[0].site, 32, {}, {1, 20}}}));
  EXPECT_EQ(made.returns, (std::vector<HeapReturn>{{made.summaries[0].site, {2, 8192}}}));
}

}  // namespace
}  // namespace fathom::session
