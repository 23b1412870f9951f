#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "analysis/verdicts/heap_verdicts.h"
#include "present/sentences/heap_verdict_sentences.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using testing::HasSubstr;

constexpr double kMiB = 1 << 20;

// A program of one function, that is looked at once a second.
class Holder : public HandMadeHeap {
 public:
  explicit Holder(const std::string& label, bool from_start = true, HeapMode mode = HeapMode::kExact)
      : HandMadeHeap(mode) {
    const auto app = module("app");
    process_ = process(10, "app");
    const auto worker = thread(process_, 11, "worker");
    profile.heap.heaps[0].process = process_;
    profile.heap.heaps[0].from_start = from_start;
    allocator_ = allocator(label, app);
    load_ = site(stack({frame(app, {"main"}), frame(app, {"load"})}), worker, allocator_);
  }
  // A second later: so much is live and resident.
  void second(double live_mib, double resident_mib, double block_bytes = 2000) {
    slice();
    const double live = live_mib * kMiB, more = std::max(0.0, live - live_),
                 less = std::max(0.0, live_ - live);
    row(load_, {more / block_bytes + 10, more + 10 * block_bytes},
        {less / block_bytes + 10, less + 10 * block_bytes});
    live_ = live;
    profile.meta.end_ns = profile.heap.slices.back().end_ns;
    model::MemoryRange range;
    range.time_ns = profile.meta.end_ns;
    range.process = process_;
    range.kind = model::MemoryKind::kAllocator;
    range.allocator = allocator_;
    range.ranges = 1;
    range.virtual_bytes = range.rss_bytes = range.anonymous_bytes =
        static_cast<std::uint64_t>(resident_mib * kMiB);
    range.live_bytes = range.live_resident_bytes = live;
    range.live_resident_variance = variance;
    range.live_blocks = live / block_bytes;
    profile.memory_ranges.push_back(range);
  }
  std::vector<HeapVerdict> held() {
    std::vector<HeapVerdict> found;
    for (HeapVerdict& verdict : judge_heap(profile, {}, HeapSums(profile, {})))
      if (verdict.kind == HeapVerdictKind::kHeld) found.push_back(std::move(verdict));
    return found;
  }
  double variance = 0;

 private:
  model::ProcessId process_;
  model::HeapAllocatorId allocator_;
  model::HeapSiteId load_;
  double live_ = 0;
};

std::string held_text(const HeapVerdict& verdict) {
  return fmt::format("{} [{}] {} | {} | {}", present::sentence_of(verdict), to_string(verdict.confidence),
                     fmt::join(present::evidence_of(verdict), "; "),
                     fmt::join(present::doubts_of(verdict), "; "), present::advice_of(verdict));
}

// 200 MiB live for 10 s, then 20 MiB for 50 s, while `resident` stays.
Holder after_a_peak(const std::string& label, double resident, bool from_start = true) {
  Holder holder(label, from_start);
  for (int i = 0; i < 60; ++i) i < 10 ? holder.second(200, 210) : holder.second(20, resident);
  return holder;
}

TEST(HeapHeld, MemoryThatStaysResidentAfterItsBlocksAreGoneIsAVerdict) {
  const auto verdicts = after_a_peak("jemalloc 5.3.0 (_rjem_)", 180).held();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].confidence, Confidence::kHigh) << held_text(verdicts[0]);
  EXPECT_THAT(
      held_text(verdicts[0]),
      HasSubstr(
          "Kept but unused: jemalloc 5.3.0 (_rjem_) has had 180.0 MiB resident for 20.0 MiB of live blocks since 11.00 s, and these do not grow: 154.6 MiB is free memory that it does not give back, or gaps between live blocks (fragmentation)."));
  EXPECT_THAT(held_text(verdicts[0]), HasSubstr("at each of the last 50 looks over 49.00 s"));
  EXPECT_THAT(
      held_text(verdicts[0]),
      HasSubstr(
          "MiB is free memory that it does not give back, or gaps between live blocks (fragmentation). [high] the same at each of the last 50 looks over 49.00 s; 200.0 MiB of it were in live blocks at 1.00 s, 20.0 MiB are now"));
  EXPECT_THAT(held_text(verdicts[0]),
              HasSubstr("_RJEM_MALLOC_CONF=background_thread:true,dirty_decay_ms:1000"));
}

TEST(HeapHeld, EachAllocatorHasARemedyOfItsOwn) {
  const auto advice = [](const std::string& label) {
    const auto verdicts = after_a_peak(label, 180).held();
    return verdicts.empty() ? std::string() : present::advice_of(verdicts[0]);
  };
  EXPECT_THAT(advice("jemalloc 5.3.0"), HasSubstr(" MALLOC_CONF=background"));
  EXPECT_THAT(advice("glibc 2.36"), HasSubstr("malloc_trim(0)"));
  EXPECT_THAT(advice("mimalloc 2.0"),
              HasSubstr("its allocator's settings determine when it gives memory back;"));
}

TEST(HeapHeld, WhatIsGivenBackOrNeededIsNone) {
  EXPECT_TRUE(after_a_peak("glibc 2.36", 30).held().empty()) << "given back";
  Holder growing("glibc 2.36");
  for (int i = 0; i < 60; ++i) growing.second(20 + 2 * i, 60 + 4 * i);
  EXPECT_TRUE(growing.held().empty()) << "live bytes grow";
  Holder small("glibc 2.36");
  for (int i = 0; i < 60; ++i) small.second(i < 10 ? 6 : 1, 6);
  EXPECT_TRUE(small.held().empty()) << "5 MiB";
  Holder tiny("glibc 2.36");
  for (int i = 0; i < 60; ++i) tiny.second(i < 10 ? 110 : 100, 400, 8);
  EXPECT_TRUE(tiny.held().empty()) << "32 bytes for each block of 8";
}

// Those from before the recording are not known, and look like free memory.
TEST(HeapHeld, OfAnAttachedProgramOnlyWhatBecameFreeMeanwhileCounts) {
  Holder old("jemalloc 5.3.0", false);
  for (int i = 0; i < 60; ++i) old.second(20, 180);
  EXPECT_TRUE(old.held().empty());
  EXPECT_EQ(after_a_peak("jemalloc 5.3.0", 180, false).held().size(), 1u);
}

TEST(HeapHeld, ShortlyAfterThePeakItIsDoubted) {
  Holder holder("jemalloc 5.3.0");
  for (int i = 0; i < 14; ++i) i < 10 ? holder.second(200, 210) : holder.second(20, 180);
  const auto verdicts = holder.held();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].confidence, Confidence::kMedium);
  EXPECT_THAT(
      held_text(verdicts[0]),
      HasSubstr("observed for only 3.00 s: allocators give unused memory back later (jemalloc after 10 s)"));
}

TEST(HeapHeld, ReportsNothingThatSamplingCannotShow) {
  Holder holder("glibc 2.36", true, HeapMode::kSampled);
  holder.variance = 1e16;  // ±196 MB
  for (int i = 0; i < 60; ++i) i < 10 ? holder.second(200, 210) : holder.second(20, 180);
  EXPECT_TRUE(holder.held().empty());
}

}  // namespace
}  // namespace fathom::analysis
