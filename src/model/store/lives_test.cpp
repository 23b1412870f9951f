// The lifetimes of single blocks: written, selected, added up again.
#include <cmath>

#include "model/store/payload.h"
#include "model/store/testing.h"

namespace fathom::store {
namespace {

using namespace model;

constexpr std::uint64_t kSliceNs = 50'000'000;

// A heap with `slices` slices, with one block's life per call, and the rows that a collector would have made
// of them.
Profile heap_with_lives(std::uint64_t seed, std::size_t blocks, std::uint32_t slices, bool sampled = false) {
  std::mt19937_64 random(seed);
  Profile profile = one_thread_profile();
  profile.threads.push_back({});
  profile.threads[1].tid = 77;
  profile.threads[1].name = profile.strings.intern("helper");
  HeapTables& heap = profile.heap;
  heap.heaps.push_back({});
  heap.heaps[0].mode = sampled ? HeapMode::kSampled : HeapMode::kExact;
  heap.heaps[0].each_block = true;
  heap.heaps[0].start_ns = profile.meta.start_ns;
  heap.heaps[0].end_ns = profile.meta.start_ns + slices * kSliceNs;
  for (std::uint32_t site = 0; site < 20; ++site)
    heap.sites.push_back({{0}, {1}, {0}, ThreadId{site % 2}, 1});
  for (std::uint32_t i = 0; i < slices; ++i) {
    const std::uint64_t start = profile.meta.start_ns + i * kSliceNs;
    heap.slices.push_back({{0}, start, start + kSliceNs, start, 0, 0, 0});
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, HeapRow> rows;
  const auto row_of = [&](std::uint32_t slice, HeapSiteId site) -> HeapRow& {
    HeapRow& row = rows[{slice, site.value}];
    row.slice = {slice};
    row.site = site;
    return row;
  };
  const auto add = [](auto& to, const auto& more) {
    to.blocks += more.blocks;
    to.bytes += more.bytes;
  };
  for (std::size_t i = 0; i < blocks; ++i) {
    HeapBlock block;
    block.site = {static_cast<std::uint32_t>(random() % heap.sites.size())};
    block.address = 0x7f0000000000 + random() % 4096 * 16;
    block.size = random() % 3 == 0 ? random() % 5000 : 64 * (block.site.value + 1);
    block.first_slice = static_cast<std::uint32_t>(random() % slices);
    block.allocated_ns = heap.slices[block.first_slice].start_ns + random() % kSliceNs;
    if (sampled) block.mean_bytes = 4096u << random() % 3;
    const HeapWeight weight = weight_of(block);
    add(row_of(block.first_slice, block.site).allocated, weight.sum);
    add(row_of(block.first_slice, block.site).allocated_variance, weight.variance);
    if (random() % 10 != 0) {
      const std::uint64_t until = heap.heaps[0].end_ns - 1 - block.allocated_ns;
      block.lifetime_ns = std::min(until, random() % (std::uint64_t{1} << random() % 34));
      block.last_slice = static_cast<std::uint32_t>(
          (block.allocated_ns + block.lifetime_ns - profile.meta.start_ns) / kSliceNs);
      block.freed_by = random() % 4 == 0 ? kNoThread : ThreadId{static_cast<std::uint32_t>(random() % 2)};
      block.temporary = !sampled && random() % 4 == 0;
      HeapRow& row = row_of(block.last_slice, block.site);
      add(row.freed, weight.sum);
      add(row.freed_variance, weight.variance);
      if (block.temporary) add(row.temporary, weight.sum);
      if (block.short_lived()) add(row.short_lived, weight.sum);
      if (block.first_slice == block.last_slice) row.churn_variance += weight.variance.bytes;
    }
    heap.blocks.push_back(block);
  }
  for (const auto& [key, row] : rows) heap.rows.push_back(row);
  HeapSum live;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < slices; ++i) {
    for (; next < heap.rows.size() && heap.rows[next].slice.value == i; ++next) {
      live.blocks += heap.rows[next].allocated.blocks - heap.rows[next].freed.blocks;
      live.bytes += heap.rows[next].allocated.bytes - heap.rows[next].freed.bytes;
    }
    heap.slices[i].live_blocks = std::max(0.0, live.blocks);
    heap.slices[i].live_bytes = std::max(0.0, live.bytes);
  }
  return profile;
}

std::string written(const Profile& profile) {
  TemporaryFile file;
  auto writer = Writer::create(file.path());
  EXPECT_TRUE(writer->finish(profile));
  return file.content();
}
ReadOptions with(const HeapBlockFilter& filter) {
  ReadOptions options;
  options.blocks = filter;
  return options;
}
double allocated(const Profile& profile) {
  double blocks = 0;
  for (const HeapRow& row : profile.heap.rows) blocks += row.allocated.blocks;
  return blocks;
}

TEST(Lives, AreReadBackExactExceptForRoundedLifetimes) {
  const Profile whole = heap_with_lives(1, 5000, 7);
  const Bytes payload = encode_lives(whole.heap.blocks, whole.heap);
  std::vector<HeapBlock> back;
  LivesOfSites known;
  ASSERT_TRUE(decode_lives(Cursor(payload), 5000, whole.heap, known, back));
  auto expected = whole.heap.blocks;
  for (HeapBlock& block : expected) {
    const HeapBlock stored = as_stored(block);
    EXPECT_LE(stored.lifetime_ns, block.lifetime_ns);
    EXPECT_GE(static_cast<double>(stored.lifetime_ns), static_cast<double>(block.lifetime_ns) * 0.984);
    EXPECT_EQ(stored.short_lived(), block.short_lived());
    block = stored;
  }
  const auto by_time = [](const HeapBlock& a, const HeapBlock& b) {
    return std::tie(a.allocated_ns, a) < std::tie(b.allocated_ns, b);
  };
  std::sort(expected.begin(), expected.end(), by_time);
  std::sort(back.begin(), back.end(), by_time);
  EXPECT_EQ(back, expected);
}

TEST(Lives, TheMillisecondLimitIsExactToTheNanosecond) {
  HeapTables heap;
  heap.sites.push_back({});
  for (const std::uint64_t ns : {999'424ull, 999'999ull, 1'000'000ull, 1'000'001ull, 1'007'616ull}) {
    HeapBlock block;
    block.last_slice = 0;
    block.lifetime_ns = ns;
    const Bytes payload = encode_lives(std::span(&block, 1), heap);
    std::vector<HeapBlock> back;
    LivesOfSites known;
    ASSERT_TRUE(decode_lives(Cursor(payload), 1, heap, known, back));
    EXPECT_EQ(back[0].short_lived(), ns < 1'000'000) << ns;
    EXPECT_LE(back[0].lifetime_ns, ns);
  }
}

TEST(Lives, AddUpToExactlyTheRowsOfTheCollector) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Profile whole = heap_with_lives(seed, 100'000, 11);  // two blocks of the file
    auto read = read_text(written(whole), with({}));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->heap.rows, whole.heap.rows);
    for (std::size_t i = 0; i < whole.heap.slices.size(); ++i) {
      EXPECT_EQ(read->heap.slices[i].live_bytes, whole.heap.slices[i].live_bytes);
      EXPECT_EQ(read->heap.slices[i].live_blocks, whole.heap.slices[i].live_blocks);
      EXPECT_GE(read->heap.slices[i].peak_bytes, read->heap.slices[i].live_bytes);
    }
    double peak = 0, sizes = 0;
    for (const HeapSummary& row : read->heap.summaries) peak += row.peak.bytes;
    for (const HeapHistogram& row : read->heap.histograms)
      if (row.kind == HeapHistogramKind::kSize) sizes += row.sum.blocks;
    EXPECT_EQ(peak, read->heap.heaps[0].peak_bytes);
    EXPECT_EQ(sizes, 100'000);
    EXPECT_TRUE(read->heap.blocks.empty());
    EXPECT_TRUE(read->quality.notes.empty());
  }
}

TEST(Lives, AddUpToTheEstimatesOfASampledHeap) {
  const Profile whole = heap_with_lives(3, 20'000, 5, true);
  auto read = read_text(written(whole), with({}));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->heap.rows.size(), whole.heap.rows.size());
  const auto near = [](double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
  };
  for (std::size_t i = 0; i < whole.heap.rows.size(); ++i) {
    const HeapRow &a = read->heap.rows[i], &b = whole.heap.rows[i];
    EXPECT_TRUE(a.site == b.site && a.slice == b.slice);
    EXPECT_TRUE(near(a.allocated.bytes, b.allocated.bytes) && near(a.freed.blocks, b.freed.blocks) &&
                near(a.allocated_variance.bytes, b.allocated_variance.bytes) &&
                near(a.freed_variance.blocks, b.freed_variance.blocks) &&
                near(a.churn_variance, b.churn_variance) && near(a.short_lived.blocks, b.short_lived.blocks))
        << i;
  }
}

TEST(Lives, FiltersKeepTheSameBlocksAsASimpleCount) {
  const Profile whole = heap_with_lives(7, 30'000, 9);
  const std::string content = written(whole);
  const auto expect = [&](const HeapBlockFilter& filter, const auto& counts) {
    double expected = 0;
    for (const HeapBlock& block : whole.heap.blocks) expected += counts(as_stored(block)) ? 1 : 0;
    auto read = read_text(content, with(filter));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(allocated(*read), expected);
    EXPECT_GT(expected, 0);
    EXPECT_LT(expected, 30'000);
    EXPECT_EQ(read->quality.notes.size(), 1u);
  };
  const std::uint64_t start = whole.meta.start_ns, end = whole.heap.heaps[0].end_ns;
  HeapBlockFilter filter;
  filter.least_size = 100;
  filter.most_size = 640;
  expect(filter, [](const HeapBlock& block) { return block.size >= 100 && block.size <= 640; });
  filter = {};
  filter.least_lifetime_ns = 1'000'000;
  expect(filter, [&](const HeapBlock& block) {
    return (block.live() ? end - block.allocated_ns : block.lifetime_ns) >= 1'000'000;
  });
  filter.most_lifetime_ns = 30'000'000;
  expect(filter, [](const HeapBlock& block) {
    return !block.live() && block.lifetime_ns >= 1'000'000 && block.lifetime_ns <= 30'000'000;
  });
  filter = {};
  filter.first_address = 0x7f0000000100;
  filter.end_address = 0x7f0000000200;
  expect(filter, [](const HeapBlock& block) {
    return block.address >= 0x7f0000000100 && block.address < 0x7f0000000200;
  });
  filter.end_address = {};
  expect(filter, [](const HeapBlock& block) {
    return block.address == 0x7f0000000100 ||
           (block.address < 0x7f0000000100 && block.address + block.size > 0x7f0000000100);
  });
  filter = {};
  filter.leaked = true;
  expect(filter, [](const HeapBlock& block) { return block.live(); });
  filter = {};
  filter.alive_at_ns = 3 * kSliceNs;
  expect(filter, [&](const HeapBlock& block) {
    const std::uint64_t at = start + 3 * kSliceNs;
    return block.allocated_ns <= at && (block.live() || block.allocated_ns + block.lifetime_ns > at);
  });
  filter = {};
  filter.freed_after_ns = 5 * kSliceNs;
  expect(filter, [&](const HeapBlock& block) {
    return !block.live() && block.allocated_ns + block.lifetime_ns >= start + 5 * kSliceNs;
  });
  for (const char* thread : {"helper", "77"}) {
    filter = {};
    filter.freed_by = thread;
    expect(filter, [](const HeapBlock& block) { return block.freed_by == ThreadId{1}; });
  }
}

TEST(Lives, TheLargestAndTheOldestAreListed) {
  const Profile whole = heap_with_lives(9, 20'000, 9);
  HeapBlockFilter filter;
  filter.keep = 10;
  auto read = read_text(written(whole), with(filter));
  ASSERT_TRUE(read) << read.error().message;
  auto live = whole.heap.blocks;
  std::erase_if(live, [](const HeapBlock& block) { return !block.live(); });
  const auto& kept = read->heap.blocks;
  EXPECT_LE(kept.size(), 20u);
  const auto largest = std::ranges::max(live, {}, &HeapBlock::size).size;
  EXPECT_EQ(kept.front().size, largest);
  const auto oldest = std::ranges::min(live, {}, &HeapBlock::allocated_ns);
  EXPECT_TRUE(std::ranges::find(kept, oldest) != kept.end());
  EXPECT_EQ(allocated(*read), 20'000);
}

// As the page reads a recording: the tables stay those of the recorder. Where the live ones come last, as a recorder writes them,
// most blocks of the file hold none; in any other order all of them do.
TEST(Lives, ReadersThatTakeBlocksOnlyIfRecordedKeepTheTables) {
  for (const bool live_last : {true, false})
    for (const int kind : {0, 1, 2}) {
      const bool sampled = kind == 1, mapped = kind == 2;
      Profile whole = heap_with_lives(12, 150'000, 9, sampled);
      if (mapped) {  // as most recordings have it: a heap without lives, with other slices
        model::Heap other = whole.heap.heaps[0];
        other.each_block = false;
        whole.heap.heaps.push_back(other);
        model::HeapSlice slice = whole.heap.slices.back();
        slice.heap = {1};
        whole.heap.slices.push_back(slice);
      }
      if (live_last)
        std::stable_partition(whole.heap.blocks.begin(), whole.heap.blocks.end(),
                              [](const HeapBlock& block) { return !block.live(); });
      const std::string text = written(whole);
      HeapBlockFilter filter;
      filter.keep = 10;
      auto every = read_text(text, with(filter));
      ASSERT_TRUE(every) << every.error().message;
      filter.if_recorded = true;
      auto read = read_text(text, with(filter));
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_FALSE(read->heap.blocks.empty());
      EXPECT_EQ(read->heap.blocks, every->heap.blocks);
      EXPECT_EQ(read->quality.notes, every->quality.notes);
      const auto rest = read_text(text);
      ASSERT_TRUE(rest) << rest.error().message;
      read->heap.blocks.clear();
      EXPECT_EQ(read->heap, rest->heap);
    }
}

TEST(Lives, ReadersWithoutAFilterReadTheRest) {
  Profile whole = heap_with_lives(2, 3000, 4);
  auto read = read_text(written(whole));
  ASSERT_TRUE(read) << read.error().message;
  whole.heap.blocks.clear();
  EXPECT_EQ(*read, whole);
}

TEST(Lives, ARecordingWithoutThemIsReported) {
  Profile whole = heap_with_lives(2, 3000, 4);
  whole.heap.heaps[0].each_block = false;
  const auto read = read_text(written(whole), with({}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(read.error().remedy.find("--each-block"), std::string::npos);
}

// As a recorder writes them: every second those that have ended, at the end those that are live.
std::string written_in_parts(const Profile& whole) {
  TemporaryFile file;
  auto writer = Writer::create(file.path());
  Profile now = whole;
  for (std::uint32_t slice = 0; slice <= whole.heap.slices.size(); ++slice) {
    const bool last = slice == whole.heap.slices.size();
    now.heap.slices.assign(whole.heap.slices.begin(), whole.heap.slices.begin() + slice + (last ? 0 : 1));
    now.heap.rows.clear();
    now.heap.blocks.clear();
    for (const HeapRow& row : whole.heap.rows)
      if (row.slice.value == slice) now.heap.rows.push_back(row);
    for (const HeapBlock& block : whole.heap.blocks)
      if (block.last_slice == (last ? HeapBlock::kLive : slice)) now.heap.blocks.push_back(block);
    EXPECT_TRUE(last ? writer->finish(now) : writer->append(now));
  }
  return file.content();
}

TEST(Lives, APrefixOfTheFileIsAPrefixOfTheSums) {
  const Profile whole = heap_with_lives(4, 20'000, 8);
  const std::string content = written_in_parts(whole);
  std::map<std::pair<HeapSliceId, HeapSiteId>, HeapRow> rows;
  for (const HeapRow& row : whole.heap.rows) rows[{row.slice, row.site}] = row;
  std::mt19937_64 random(5);
  double most = 0;
  for (int i = 0; i < 200; ++i) {
    auto part = read_text(content.substr(0, random() % (content.size() + 1)), with({}));
    if (!part) continue;  // no heap in it yet
    for (const HeapRow& row : part->heap.rows) {
      const HeapRow& all = rows.at({row.slice, row.site});
      ASSERT_LE(row.allocated.blocks, all.allocated.blocks);
      ASSERT_LE(row.freed.bytes, all.freed.bytes);
      ASSERT_LE(row.temporary.blocks, all.temporary.blocks);
    }
    most = std::max(most, allocated(*part));
    if (allocated(*part) < 20'000) {
      ASSERT_FALSE(part->quality.notes.empty());
      EXPECT_NE(part->quality.notes.back().find("are not listed"), std::string::npos);
    }
  }
  EXPECT_GT(most, 10'000);
}

TEST(Lives, ADamagedBlockLosesItsRowsAndIsReported) {
  const Profile whole = heap_with_lives(4, 20'000, 8);
  std::string content = written_in_parts(whole);
  std::size_t seen = 0;
  for (const FoundBlock& found : blocks_of(content))
    if (found.header.type == kLives && ++seen == 3) content[found.offset + kBlockHeaderSize + 9] ^= 0x10;
  auto read = read_text(content, with({}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GT(allocated(*read), 10'000);
  EXPECT_LT(allocated(*read), 20'000);
  EXPECT_EQ(read->quality.notes.size(), 2u);
  EXPECT_TRUE(read_text(content)->quality.notes.empty());
}

// The headers say which blocks of the file have none that are live, and none that are larger than a size: their payloads are not read,
// so a reader does not see that they are damaged.
TEST(Lives, BlocksThatCannotHaveAnyAreNotRead) {
  Profile whole = heap_with_lives(4, 20'000, 8);
  const std::size_t listed = static_cast<std::size_t>(
      std::ranges::count_if(whole.heap.blocks, [](const HeapBlock& block) { return block.live(); }));
  std::string content = written_in_parts(whole);
  HeapBlockFilter live, large;
  live.if_recorded = true;
  live.keep = large.keep = static_cast<std::uint32_t>(listed);
  large.least_size = 1 << 20;
  std::size_t damaged = 0;
  for (const FoundBlock& found : blocks_of(content)) {
    if (found.header.type != kLives) continue;
    const LivesHints hints = hints_of(found.header);
    EXPECT_TRUE(hints.exact);
    EXPECT_LT(hints.most_size, 1u << 20);
    if (hints.none_live) content[found.offset + kBlockHeaderSize + 9] ^= 0x10, ++damaged;
  }
  EXPECT_EQ(damaged, 8u) << "all but the last one";
  for (const HeapBlockFilter& filter : {live, large}) {
    const auto read = read_text(content, with(filter));
    ASSERT_TRUE(read) << read.error().message;
    for (const std::string& note : read->quality.notes)
      EXPECT_EQ(note.find("damaged"), std::string::npos) << note;
    EXPECT_EQ(read->heap.blocks.size(), filter == live ? listed : 0);
  }
  const auto read = read_text(content, with({}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_NE(read->quality.notes.back().find("damaged in 8 places"), std::string::npos);
}

// A block that was freed in a slice that was lost is live at the end of the last one that is there.
TEST(Lives, HintsDoNotHoldWhereTheFileIsDamaged) {
  Profile whole = heap_with_lives(4, 20'000, 8);
  std::string content = written_in_parts(whole);
  HeapBlockFilter live;
  live.if_recorded = true;
  live.keep = 20'000;
  const std::size_t before = read_text(content, with(live))->heap.blocks.size();
  std::optional<std::size_t> heap;
  for (const FoundBlock& found : blocks_of(content))
    if (found.header.type == kHeap) heap = found.offset;  // the last slice
  content[heap.value() + kBlockHeaderSize + 9] ^= 0x10;
  EXPECT_GT(read_text(content, with(live))->heap.blocks.size(), before);
}

TEST(Lives, HintsOfSampledOnesSayNothing) {
  const Profile whole = heap_with_lives(3, 20'000, 5, true);
  for (const FoundBlock& found : blocks_of(written(whole))) {
    if (found.header.type != kLives) continue;
    const LivesHints hints = hints_of(found.header);
    EXPECT_FALSE(hints.exact || hints.none_live);
    EXPECT_EQ(hints.most_size, UINT64_MAX);
  }
}

TEST(Lives, FlippedBitsInAPayloadAreRejectedOrRead) {
  const Profile whole = heap_with_lives(6, 300, 3);
  const Bytes payload = encode_lives(whole.heap.blocks, whole.heap);
  std::vector<HeapBlock> back;
  LivesOfSites known;
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
    Bytes flipped = payload;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    if (!decode_lives(Cursor(flipped), 300, whole.heap, known, back)) {
      ++refused;
      continue;
    }
    for (const HeapBlock& block : back) {
      ASSERT_LT(block.site.value, whole.heap.sites.size());
      ASSERT_GE(block.last_slice, block.first_slice);
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST(Lives, AreNotRequiredToReadTheFile) {
  for (const FoundBlock& found : blocks_of(written(heap_with_lives(2, 100, 2)))) {
    if (found.header.type == kLives) {
      EXPECT_EQ(found.header.flags & kFlagRequired, 0u);
    }
  }
}

}  // namespace
}  // namespace fathom::store
