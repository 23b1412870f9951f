// From the events of a tracer to a file and back: the lives of single blocks add up to exactly the rows that
// the collector made of the same events, however these are cut into rounds, slices and batches.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "model/store/reader.h"
#include "model/store/writer.h"
#include "record/heap/testing_tracer.h"
#include "record/session/heap/heap_tables.h"

namespace fathom::session {
namespace {

using namespace model;
using sources::heap::Collector;
using sources::heap::CollectorOptions;
using sources::heap::FakeTracer;
using sources::heap::Moment;

constexpr std::uint64_t kMillisecond = 1'000'000;

// Two threads that allocate, free, move and hand over at random.
class RandomHeap {
 public:
  RandomHeap(std::uint64_t seed, bool sampled)
      : random_(seed), sampled_(sampled), tracer_(2, 1u << 16), collector_(make()) {
    profile_.processes.push_back({});
    for (const std::int32_t tid : {100, 101}) profile_.threads.emplace_back().tid = tid;
    Builder builder(profile_);
    for (std::uint32_t stack = 1; stack <= 6; ++stack) builder.stack({0}, builder.frame({0}, {stack * 0x10}));
    model::Heap heap;
    heap.mode = sampled ? HeapMode::kSampled : HeapMode::kExact;
    heap.each_block = true;
    tables_.emplace(profile_, heap);
    for (std::uint32_t stack = 1; stack <= 6; ++stack) tables_->stack(stack, {stack}, 1);
    for (std::uint32_t ring = 0; ring < 2; ++ring) {
      tracer_.thread(ring, 1, 100 + ring);
      for (std::uint32_t stack = 1; stack <= 6; ++stack) tracer_.stack(ring, 1, stack, {stack * 0x10, 0x1});
    }
  }

  // Writes the file while it goes on, as a recorder does.
  void play(const std::string& path) {
    auto writer = store::Writer::create(path);
    ASSERT_TRUE(writer);
    for (int round = 0; round < 300; ++round) {
      for (int i = 0; i < 40; ++i) event();
      // What is stamped behind the cut is read in the next round; some of what was stamped before it, too.
      drain(now_ - random_() % 300);
      if (random_() % 3 == 0) take_blocks();
      if (random_() % 10 == 0) take_slice(false);
      if (random_() % 25 == 0) write(*writer, false);
    }
    drain(now_ + kMillisecond);
    take_slice(true);
    take_blocks();
    collector_.for_each_live_life([&](const auto& life) { tables_->add(life, thread_of); });
    tables_->finish(collector_.summary(), collector_.counters());
    write(*writer, true);
  }
  const std::vector<HeapRow>& rows() const { return all_rows_; }
  const Profile& profile() const { return profile_; }
  Collector& collector() { return collector_; }

 private:
  static ThreadId thread_of(std::uint32_t tid) { return ThreadId{tid - 100}; }
  Collector make() {
    CollectorOptions options;
    options.each_block = true;
    options.first_slice_ns = 200'000;
    return Collector::create(tracer_.layout(), tracer_.memory(), at(0), options).value();
  }
  static Moment at(std::uint64_t ticks) { return {FakeTracer::kBase + ticks, FakeTracer::kBase + ticks}; }
  void drain(std::uint64_t ticks) { collector_.drain(at(ticks)); }

  void event() {
    now_ += 1 + random_() % 400;
    if (random_() % 500 == 0) now_ += 2 * kMillisecond;
    const auto ring = static_cast<std::uint32_t>(random_() % 2);
    const auto stack = static_cast<std::uint32_t>(random_() % 7);  // 0: not walked
    const std::uint64_t size = random_() % 2000;
    const std::uint64_t free_address = 0x1000 + random_() % 700 * 16;
    if (live_.size() > 300 || (!live_.empty() && random_() % 2 == 0)) {
      const std::size_t which = random_() % 3 == 0 ? live_.size() - 1 : random_() % live_.size();
      const std::uint64_t block = live_[which];
      if (!sampled_ && random_() % 4 == 0) {
        // It was given back when the realloc began, which may be in the slice before.
        tracer_.realloc(ring, now_, block, now_ - random_() % 200, free_address,
                        static_cast<std::uint32_t>(size), stack);
        live_[which] = free_address;
        return;
      }
      tracer_.free(ring, now_, block);
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
      return;
    }
    if (sampled_)
      tracer_.sample(ring, now_, free_address, size, stack, 1024u << random_() % 2);
    else
      tracer_.alloc(ring, now_, free_address, size, stack);
    live_.push_back(free_address);
  }
  void take_blocks() { tables_->add(collector_.take_blocks(), thread_of); }
  void take_slice(bool last) {
    if (const auto slice = collector_.slice(last)) tables_->add(*slice, thread_of);
  }
  void write(store::Writer& writer, bool last) {
    auto& heap = profile_.heap;
    all_rows_.insert(all_rows_.end(), heap.rows.begin(), heap.rows.end());
    const auto written = last ? writer.finish(profile_) : writer.append(profile_);
    ASSERT_TRUE(written) << written.error().message;
    heap.rows.clear();
    heap.blocks.clear();
  }

  std::mt19937_64 random_;
  bool sampled_;
  FakeTracer tracer_;
  Collector collector_;
  Profile profile_;
  std::optional<HeapTables> tables_;
  std::vector<std::uint64_t> live_;
  std::vector<HeapRow> all_rows_;
  std::uint64_t now_ = 2 * kMillisecond;
};

using Sums = std::map<std::pair<HeapSliceId, HeapSiteId>, std::array<double, 8>>;
Sums sums_of(const std::vector<HeapRow>& rows) {
  Sums sums;
  for (const HeapRow& row : rows) {
    auto& sum = sums[{row.slice, row.site}];
    std::size_t at = 0;
    for (const HeapSum* part : {&row.allocated, &row.freed, &row.temporary, &row.short_lived}) {
      sum[at++] += part->blocks;
      sum[at++] += part->bytes;
    }
  }
  return sums;
}

class HeapLives : public testing::TestWithParam<bool> {};

TEST_P(HeapLives, AddUpToTheRowsOfTheCollector) {
  const bool sampled = GetParam();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::string folder = testing::TempDir() + "fathom-lives-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    RandomHeap heap(seed, sampled);
    heap.play(folder + "/x.fathom");
    store::ReadOptions options;
    options.blocks.emplace();
    const auto read = store::read(folder + "/x.fathom", options);
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(heap.collector().counters().lost_blocks, 0u);
    EXPECT_GT(read->heap.slices.size(), 5u);
    const Sums expected = sums_of(heap.rows()), found = sums_of(read->heap.rows);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [key, sum] : expected)
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const double other = found.at(key)[i];
        ASSERT_NEAR(other, sum[i], sampled ? 1e-9 * sum[i] : 0) << key.first.value << " " << key.second.value;
      }
    for (std::size_t i = 0; i < read->heap.slices.size(); ++i)
      EXPECT_NEAR(read->heap.slices[i].live_bytes, heap.profile().heap.slices[i].live_bytes,
                  sampled ? 1e-6 * heap.profile().heap.slices[i].live_bytes : 0);
    EXPECT_TRUE(read->quality.notes.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(ExactAndSampled, HeapLives, testing::Bool());

TEST(BlockLog, RowsThatAreNotFetchedAreDroppedAndCounted) {
  sources::heap::BlockLog log(2, 0);
  for (int i = 0; i < 5; ++i) log.ended(0x1000, {});
  EXPECT_EQ(log.take().size(), 2u);
  EXPECT_EQ(log.lost(), 3u);
  log.ended(0x1000, {});
  EXPECT_EQ(log.take().size(), 1u);
}

}  // namespace
}  // namespace fathom::session
