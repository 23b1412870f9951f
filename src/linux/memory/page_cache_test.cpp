#include "linux/memory/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kAnyTime = UINT64_MAX;

MemoryMapping file_mapping(std::string path, std::uint64_t inode, std::uint64_t size, std::uint64_t rss,
                           std::uint64_t anonymous = 0) {
  static std::uint64_t at = 1 << 30;
  MemoryMapping made;
  made.entry.start = ProcessAddress{at};
  made.entry.end = ProcessAddress{at += size};
  made.entry.path = std::move(path);
  made.entry.inode = inode;
  made.rss = rss;
  made.anonymous = anonymous;
  return made;
}

// A file of so many MiB, written; gone with the test.
class TestFile {
 public:
  explicit TestFile(std::uint64_t mebibytes, std::string name = "data.mdb") {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("page-cache-{}-{}", ::getpid(), name);
    std::filesystem::create_directories(folder_);
    path_ = folder_ / name;
    fd_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const std::vector<char> piece(kMiB, 'x');
    for (std::uint64_t i = 0; i < mebibytes; ++i)
      if (::write(fd_.get(), piece.data(), piece.size()) != static_cast<ssize_t>(piece.size())) break;
  }
  ~TestFile() { std::filesystem::remove_all(folder_); }
  const Fd& fd() const { return fd_; }
  void read() const {
    std::vector<char> piece(kMiB);
    for (off_t at = 0; ::pread(fd_.get(), piece.data(), piece.size(), at) > 0;)
      at += static_cast<off_t>(kMiB);
  }
  std::string path() const { return path_; }
  std::uint64_t inode() const {
    struct stat of {};
    ::fstat(fd_.get(), &of);
    return of.st_ino;
  }

 private:
  std::filesystem::path folder_, path_;
  Fd fd_;
};

TEST(Database, IsKnownByItsFile) {
  EXPECT_EQ(database_of("/data/db/mdbx.dat"), "MDBX");
  EXPECT_EQ(database_of("/data/data.mdb"), "LMDB");
  EXPECT_EQ(database_of("/near/data/004711.sst"), "RocksDB");
  EXPECT_EQ(database_of("/geth/chaindata/000123.ldb"), "LevelDB");
  EXPECT_EQ(database_of("/lib/libc.so.6"), "");
  EXPECT_EQ(database_of(""), "");
}

TEST(DatabasesWorthAsking, AreKnownByNameOrAreLargeAndNoCode) {
  std::vector<MemoryMapping> mappings{file_mapping("/bin/node", 1, 100 * kMiB, 8 * kMiB),
                                      file_mapping("/db/small.sst", 2, kMiB, kMiB),
                                      file_mapping("/data/blocks.dat", 3, 64 * kMiB, kMiB),
                                      file_mapping("/data/index.dat", 4, 63 * kMiB, kMiB)};
  mappings[0].entry.executable = true;
  mappings.push_back(file_mapping("/bin/node", 1, 400 * kMiB, 8 * kMiB));  // its data, next to the code
  const auto asked = databases_worth_asking(mappings, 8);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].entry.path, "/db/small.sst");
  EXPECT_EQ(asked[1].entry.path, "/data/blocks.dat");
  EXPECT_EQ(databases_worth_asking(mappings, 1).size(), 1u);
}

TEST(FilesWorthAsking, AreDatabasesAndThenTheLargest) {
  const std::vector<MemoryMapping> mappings{file_mapping("/lib/large.so", 1, 100 * kMiB, 8 * kMiB, kMiB),
                                            file_mapping("/lib/small.so", 2, kMiB, kMiB),
                                            file_mapping("/db/000001.sst", 3, kMiB, 4096),
                                            file_mapping("/memfd:x", 4, 100 * kMiB, 0),
                                            file_mapping("[heap]", 0, 100 * kMiB, 0),
                                            file_mapping("/lib/large.so", 1, kMiB, 4096),
                                            file_mapping("/lib/other.so", 5, 50 * kMiB, 0)};
  const auto files = files_worth_asking(mappings, 2);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].entry.path, "/db/000001.sst");
  EXPECT_EQ(files[1].entry.path, "/lib/large.so");
  EXPECT_EQ(files[1].mapped, 101 * kMiB);
  EXPECT_EQ(files[1].resident, 7 * kMiB + 4096) << "without the pages that are the process's own";
}

TEST(CacheUse, OfAFileJustWrittenAllIsCached) {
  const TestFile file(8);
  // Other programs may evict it from memory: then it is read once more.
  CacheUse use;
  for (int attempt = 0; attempt < 100 && use.cached != 8 * kMiB; ++attempt) {
    file.read();
    use = read_cache_use(file.fd(), 8 * kMiB, kAnyTime);
  }
  ASSERT_NE(use.way, CacheWay::kUnknown) << use.reason;
  EXPECT_TRUE(use.whole);
  EXPECT_EQ(use.cached, 8 * kMiB);
  EXPECT_LE(use.dirty + use.writeback, 8 * kMiB);
}

TEST(CacheUse, BothWaysSayTheSame) {
  const TestFile file(4);
  CacheUse use, older;
  for (int attempt = 0; attempt < 100 && (attempt == 0 || use.cached != older.cached); ++attempt) {
    file.read();
    use = read_cache_use(file.fd(), 4 * kMiB, kAnyTime);
    older = read_cache_use(file.fd(), 4 * kMiB, kAnyTime, true);
  }
  EXPECT_EQ(older.way, CacheWay::kMincore);
  EXPECT_EQ(use.cached, older.cached);
}

TEST(CacheUse, OfAFileThatWasNeverReadNothingIsCached) {
  const TestFile file(0);
  ASSERT_EQ(::ftruncate(file.fd().get(), std::int64_t{1} << 36), 0);
  const CacheUse use = read_cache_use(file.fd(), std::uint64_t{1} << 36, kAnyTime);
  EXPECT_TRUE(use.whole);
  EXPECT_EQ(use.cached, 0u);
}

TEST(CacheUse, NothingIsAskedAfterItsTime) {
  const TestFile file(1);
  for (const bool by_mincore : {false, true}) {
    const CacheUse use = read_cache_use(file.fd(), kMiB, 1, by_mincore);
    EXPECT_FALSE(use.whole);
    EXPECT_EQ(use.asked, 0u);
  }
}

TEST(PageCache, OfAMappedDatabaseIsReported) {
  const TestFile file(8);
  void* mapped = ::mmap(nullptr, 8 * kMiB, PROT_READ, MAP_SHARED, file.fd().get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto maps = process::read_maps(::getpid());
  ASSERT_TRUE(maps.has_value());
  std::vector<MemoryMapping> mappings;
  for (const process::MapEntry& entry : *maps) mappings.push_back({.entry = entry});
  const auto files = read_page_cache(::getpid(), files_worth_asking(mappings, 1), kAnyTime);
  ::munmap(mapped, 8 * kMiB);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, file.path());
  EXPECT_EQ(files[0].database, "LMDB");
  EXPECT_EQ(files[0].file_bytes, 8 * kMiB);
  EXPECT_EQ(files[0].mapped, 8 * kMiB);
  EXPECT_NE(files[0].cache.way, CacheWay::kUnknown) << files[0].cache.reason;
  EXPECT_LE(files[0].cache.cached, 8 * kMiB);
  EXPECT_EQ(files[0].cache.asked, 8 * kMiB);
}

TEST(PageCache, AnotherFileOfThatNameIsNotAsked) {
  const TestFile file(1);
  const MappedFileUse other{file_mapping(file.path(), file.inode() + 1, kMiB, 0).entry, kMiB, 0};
  const auto files = read_page_cache(::getpid(), std::vector{other}, kAnyTime);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].cache.way, CacheWay::kUnknown);
  EXPECT_FALSE(files[0].cache.reason.empty());
}

TEST(PageCache, TablesOfOneDatabaseAreOneRow) {
  CachedFile table;
  table.database = "RocksDB";
  table.cache.way = CacheWay::kCachestat;
  table.cache.cached = 4096;
  std::vector<CachedFile> files;
  for (const char* path : {"/a/1.sst", "/b/1.sst", "/a/2.sst"}) {
    table.path = path;
    files.push_back(table);
  }
  table.cache.way = CacheWay::kUnknown;
  table.path = "/b/2.sst";
  files.push_back(table);
  const auto joined = join_tables(files);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].path, "/a/");
  EXPECT_EQ(joined[0].files, 2u);
  EXPECT_EQ(joined[0].cache.cached, 8192u);
  EXPECT_TRUE(joined[0].cache.whole);
  EXPECT_EQ(joined[1].cache.cached, 4096u);
  EXPECT_FALSE(joined[1].cache.whole) << "one of them is not known";
}

}  // namespace
}  // namespace fathom::sources
