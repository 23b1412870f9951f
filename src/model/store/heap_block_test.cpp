#include "model/store/testing.h"

namespace fathom::store {
namespace {

using namespace model;

// One site that allocates a block each second, with a summary that changes along with it.
Profile heap_of_one_site() {
  Profile profile = one_thread_profile();
  profile.heap.heaps.push_back({});
  profile.heap.sites.push_back({{0}, {1}, {0}, {0}, 1});
  return profile;
}
void next_second(Profile& profile, std::uint64_t second) {
  HeapTables& heap = profile.heap;
  heap.slices.push_back(
      {{0}, second * 10, second * 10 + 10, second * 10, 0, 64.0 * static_cast<double>(second), 1});
  heap.rows = {{{static_cast<std::uint32_t>(heap.slices.size() - 1)}, {0}, {1, 64}, {}, {}, {}, {}, {}, 0}};
  heap.summaries = {{{0}, {static_cast<double>(second), 64}, {}, second}};
}

TEST(HeapBlock, RowsAddUpAndTablesOfTheWholeRecordingAreReplaced) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  auto writer = Writer::create(file.path());
  for (std::uint64_t second = 1; second <= 3; ++second) {
    next_second(profile, second);
    ASSERT_TRUE(writer->append(profile));
    auto now = read(file.path());
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_EQ(now->heap.rows.size(), second);
    EXPECT_EQ(now->heap.slices, profile.heap.slices);
    EXPECT_EQ(now->heap.summaries, profile.heap.summaries);
  }
}

// A long recording replaces such tables very often; when it is opened, only the last one may be in memory.
TEST(HeapBlock, ReplacedTablesFreeTheirMemory) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  auto writer = Writer::create(file.path());
  ReadOptions options;
  options.memory_limit_bytes = 1 << 20;
  for (std::uint64_t second = 1; second <= 50; ++second) {
    profile.heap.summaries.assign(1000, {{0}, {static_cast<double>(second), 64}, {}, second});
    ASSERT_TRUE(writer->append(profile));
  }
  const auto read_back = read(file.path(), options);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->heap.summaries, profile.heap.summaries);
}

TEST(HeapBlock, TableThatBecomesEmptyIsEmptyInTheFile) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  auto writer = Writer::create(file.path());
  next_second(profile, 1);
  ASSERT_TRUE(writer->append(profile));
  profile.heap.rows.clear();
  profile.heap.summaries.clear();
  ASSERT_TRUE(writer->finish(profile));
  EXPECT_TRUE(read(file.path())->heap.summaries.empty());
}

TEST(HeapBlock, KilledRecordingKeepsTheRowsOfAllWholeSlices) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Profile whole = random_profile(seed, {.samples = 5});
    if (whole.heap.rows.empty()) continue;
    SCOPED_TRACE(seed);
    TemporaryFile file;
    write_sliced(file.path(), whole, 5);
    const std::string content = file.content();
    std::size_t most = 0;
    for (std::size_t size = kFileHeaderSize; size < content.size(); size += 7) {
      auto part = read_text(content.substr(0, size));
      ASSERT_TRUE(part);
      const auto& rows = part->heap.rows;
      ASSERT_GE(rows.size(), most) << "a longer file gave less";
      most = rows.size();
      ASSERT_TRUE(std::equal(rows.begin(), rows.end(), whole.heap.rows.begin())) << size;
    }
    EXPECT_EQ(most, whole.heap.rows.size());
  }
}

TEST(HeapBlock, DamagedBlockLosesOnlyItsOwnRows) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  auto writer = Writer::create(file.path());
  for (std::uint64_t second = 1; second <= 3; ++second) {
    next_second(profile, second);
    ASSERT_TRUE(writer->append(profile));
  }
  profile.heap.rows.clear();
  ASSERT_TRUE(writer->finish(profile));
  std::string content = file.content();
  std::size_t seen = 0;
  for (const FoundBlock& found : blocks_of(content))
    if (found.header.type == kHeap && ++seen == 2) content[found.offset + kBlockHeaderSize + 3] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest) << rest.error().message;
  ASSERT_EQ(rest->heap.rows.size(), 2u);
  EXPECT_EQ(rest->heap.slices.size(), 3u);
  EXPECT_EQ(rest->heap.slices[2], profile.heap.slices[2]);
  EXPECT_EQ(rest->heap.rows[1].slice, HeapSliceId{2});
  EXPECT_FALSE(rest->quality.notes.empty());
}

TEST(HeapBlock, ReadersThatDoNotKnowHeapBlocksCanReadTheFile) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  next_second(profile, 1);
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->finish(profile));
  for (const FoundBlock& found : blocks_of(file.content())) {
    if (found.header.type == kHeap) {
      EXPECT_EQ(found.header.flags & kFlagRequired, 0u);
    }
  }
}

TEST(HeapBlock, RowWithAnInvalidIdIsRejectedAndTheFileStaysReadable) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile));
  next_second(profile, 1);
  profile.heap.rows[0].site = {1};
  EXPECT_FALSE(writer->append(profile));
  EXPECT_TRUE(read(file.path()));
}

TEST(HeapBlock, RowOfAnExactRecordingTakesAFewBytes) {
  TemporaryFile file;
  Profile profile = heap_of_one_site();
  model::Builder builder(profile);
  for (std::uint32_t i = 1; i < 2000; ++i)
    profile.heap.sites.push_back({{0}, builder.stack({1}, builder.frame({0}, {0x100 + i * 8})), {0}, {0}, 1});
  auto writer = Writer::create(file.path());
  std::mt19937_64 random(5);
  std::uint64_t before = 0, rows = 0;
  for (std::uint64_t second = 1; second <= 20; ++second) {
    next_second(profile, second);
    profile.heap.rows.clear();
    for (std::uint32_t site = 0; site < 2000; ++site) {
      if (random() % 2 == 0) continue;
      const auto blocks = static_cast<double>(random() % 3000), gone = static_cast<double>(random() % 3000);
      HeapRow row;
      row.slice = {static_cast<std::uint32_t>(second - 1)};
      row.site = {site};
      row.allocated = {blocks, blocks * 48};
      row.freed = {gone, gone * 48};
      profile.heap.rows.push_back(row);
    }
    ASSERT_TRUE(writer->append(profile));
    if (second == 1) before = writer->bytes_written();
    if (second != 1) rows += profile.heap.rows.size();
  }
  EXPECT_LT(static_cast<double>(writer->bytes_written() - before) / static_cast<double>(rows), 14);
}

}  // namespace
}  // namespace fathom::store
