// Processes that hold memory in each of the ways that operators ask about, standing still: the lines add up to RSS as
// /proc/PID/status has it and to smaps, nothing is unexplained, and the line in question says what the process did.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/sanitized.h"
#include "linux/memory/testing_kernel.h"
#include "linux/process/status.h"
#include "tools/watch/look.h"

namespace fathom::watch {
namespace {

constexpr std::size_t kMebibyte = 1 << 20, kShapePage = 4096;

// Runs as configured and then stops. It exits with what it could not do.
class ShapedChild {
 public:
  explicit ShapedChild(bool (*live)()) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!live()) ::_exit(3);
      for (;;) ::raise(SIGSTOP);
    }
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    stands_ = WIFSTOPPED(status);
  }
  ~ShapedChild() {
    if (!stands_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ShapedChild(const ShapedChild&) = delete;
  ShapedChild& operator=(const ShapedChild&) = delete;
  int pid() const { return pid_; }
  bool stands() const { return stands_; }

 private:
  pid_t pid_;
  bool stands_ = false;
};

void touch_pages(void* start, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kShapePage) static_cast<volatile char*>(start)[i] = 1;
}

struct Seen {
  Look look;
  std::uint64_t bytes(std::string_view kind, std::string_view name_part = "") const {
    std::uint64_t sum = 0;
    for (const analysis::MemoryLine& line : look.composition->lines.lines)
      if (line.kind == kind && line.name.find(name_part) != std::string::npos) sum += line.bytes;
    return sum;
  }
  std::string text() const {
    std::string text;
    for (const analysis::MemoryLine& line : look.composition->lines.lines)
      text += fmt::format("{:>12} {:<14} {}\n", line.bytes, line.kind, line.name);
    return text;
  }
};

std::uint64_t rss_of_smaps(int pid) {
  const auto smaps = sources::read_smaps(pid, UINT64_MAX);
  std::uint64_t sum = 0;
  if (smaps)
    for (const sources::MemoryMapping& mapping : smaps->mappings) sum += mapping.rss;
  return sum;
}

// What holds of every process that stands still. The kernel may take pages of files meanwhile: then it is looked at
// again.
Seen look_at(const ShapedChild& child) {
  auto watched = Watched::open(child.pid());
  if (!watched) throw std::runtime_error(watched.error().message);
  Seen seen;
  std::uint64_t smaps = 0;
  for (int attempt = 0; attempt < 50; ++attempt) {
    smaps = rss_of_smaps(child.pid());
    auto look = watched->look(true);
    if (!look) throw std::runtime_error(look.error().message);
    seen.look = std::move(*look);
    if (!seen.look.composition->moved && rss_of_smaps(child.pid()) == smaps) break;
  }
  const analysis::MemoryLines& lines = seen.look.composition->lines;
  std::uint64_t sum = 0;
  for (const analysis::MemoryLine& line : lines.lines) sum += line.bytes;
  EXPECT_EQ(sum, smaps) << seen.text();
  EXPECT_EQ(static_cast<std::int64_t>(sum) + lines.unexplained_bytes,
            static_cast<std::int64_t>(lines.rss_bytes));
  if (sources::kernel_tells_rss_exactly()) {
    EXPECT_EQ(lines.unexplained_bytes, 0) << seen.text();
  }
  const auto status = process::read_status(child.pid());
  if (!status) throw std::runtime_error(status.error().message);
  EXPECT_EQ(seen.look.figures.page_tables, status->page_tables);
  return seen;
}

// A sanitizer has a malloc of its own.
#if !FATHOM_ADDRESS_SANITIZER && !FATHOM_THREAD_SANITIZER && !defined(__clang__)
constexpr std::size_t kBlocks = 4000, kBlock = 12'000;  // below glibc's threshold for mappings of their own

TEST(Shapes, FragmentationOfGlibcIsFreeChunks) {
  FATHOM_NEEDS_PAGE_SCAN();
  ShapedChild child([] {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      blocks.push_back(::malloc(kBlock));
      std::memset(blocks.back(), 1, kBlock);
    }
    for (std::size_t i = 0; i < kBlocks; ++i)
      if (i % 4 != 0) ::free(blocks[i]);
    ::free(::malloc(kBlock * 4));  // what is free and small is merged
    return true;
  });
  ASSERT_TRUE(child.stands());
  const Seen seen = look_at(child);
  // Three blocks of four side by side are free: 36,000 bytes, of which 8 pages are whole.
  const double free = kBlocks / 4.0 * 3 * kBlock;
  EXPECT_GT(static_cast<double>(seen.bytes("heap", "glibc: free chunks")), 0.8 * free) << seen.text();
  EXPECT_LT(static_cast<double>(seen.bytes("heap", "glibc: free chunks")), 1.05 * free + 1e6) << seen.text();
  EXPECT_GE(seen.bytes("heap", "glibc: live blocks"), kBlocks / 4 * kBlock) << seen.text();
}

TEST(Shapes, FreePagesNextToLiveOnesInAHugePageAreRounding) {
  FATHOM_NEEDS_PAGE_SCAN();
  // Blocks of an arena of glibc; the heap grows by brk, and its pages are asked to be huge before they are touched.
  static constexpr std::size_t kMany = 4096, kSize = 16'000;
  ShapedChild child([] {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    char* space = static_cast<char*>(::malloc(kMany * kSize));
    const auto start =
        (reinterpret_cast<std::uintptr_t>(space) + 2 * kMebibyte - 1) / (2 * kMebibyte) * (2 * kMebibyte);
    ::madvise(reinterpret_cast<void*>(start),
              kMany * kSize / (2 * kMebibyte) * (2 * kMebibyte) - 2 * kMebibyte, MADV_HUGEPAGE);
    ::free(space);
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < kMany; ++i) {
      blocks.push_back(::malloc(kSize));
      std::memset(blocks.back(), 1, kSize);
    }
    for (std::size_t i = 0; i < kMany; ++i)
      if (i % 16 != 0) ::free(blocks[i]);
    return true;
  });
  ASSERT_TRUE(child.stands());
  const Seen seen = look_at(child);
  std::uint64_t huge = 0;
  for (const analysis::MemoryLine& line : seen.look.composition->lines.lines) huge += line.huge_bytes;
  if (huge < 16 * kMebibyte) GTEST_SKIP() << "the kernel gave no huge pages";
  // 15 of 16 blocks are free, in each huge page some are live.
  const auto rounding = static_cast<double>(seen.bytes("heap", "glibc: rounding of huge pages"));
  EXPECT_GT(rounding, 0.8 * static_cast<double>(huge)) << seen.text();
  EXPECT_LE(rounding, static_cast<double>(huge)) << seen.text();
}

#endif

TEST(Shapes, ASparseMappingOfTerabytesIsPageTables) {
  FATHOM_NEEDS_PAGE_SCAN();
  static constexpr std::size_t kTables = 2500;
  ShapedChild child([] {
    char* start = static_cast<char*>(::mmap(nullptr, std::size_t{5} << 40, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (start == MAP_FAILED) return false;
    ::madvise(start, std::size_t{5} << 40, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < kTables; ++i) static_cast<volatile char*>(start)[i << 31] = 1;
    return true;
  });
  if (!child.stands()) GTEST_SKIP() << "5 TiB of addresses are not to be had here";
  const Seen seen = look_at(child);
  EXPECT_GE(seen.look.figures.page_tables, kTables * 2 * kShapePage)
      << "two tables of a page for each page touched";
  EXPECT_GE(seen.bytes("anonymous"), kTables * kShapePage);
}

TEST(Shapes, MemfdIsALineOfItsName) {
  FATHOM_NEEDS_PAGE_SCAN();
  ShapedChild child([] {
    const int memory = ::memfd_create("buffers", 0);
    if (::ftruncate(memory, 64 * kMebibyte) != 0) return false;
    touch_pages(::mmap(nullptr, 64 * kMebibyte, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0),
                24 * kMebibyte);
    return true;
  });
  ASSERT_TRUE(child.stands());
  EXPECT_EQ(look_at(child).bytes("memfd", "buffers"), 24 * kMebibyte);
}

TEST(Shapes, AnEvictedDatabaseIsShownByItsPageCache) {
  FATHOM_NEEDS_PAGE_SCAN();
  static std::string folder;
  folder = testing::TempDir() + "shapes-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  static std::string path;
  path = folder + "/mdbx.dat";
  ShapedChild child([] {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::string piece(kMebibyte, 'x');
    for (int i = 0; i < 32; ++i)
      if (::write(file, piece.data(), piece.size()) != static_cast<ssize_t>(piece.size())) return false;
    if (::fsync(file) != 0) return false;
    char* start = static_cast<char*>(::mmap(nullptr, 64 * kMebibyte, PROT_READ, MAP_SHARED, file, 0));
    if (start == MAP_FAILED) return false;
    ::madvise(start, 64 * kMebibyte, MADV_RANDOM);
    // The upper half goes out of memory, the lower is cached, and of that a quarter is mapped.
    if (::posix_fadvise(file, 16 * kMebibyte, 16 * kMebibyte, POSIX_FADV_DONTNEED) != 0) return false;
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < 8 * kMebibyte; at += kShapePage)
      sum += static_cast<unsigned char>(start[at]);
    return sum != 0;
  });
  const bool stands = child.stands();
  Seen seen;
  // What the kernel takes back between the two readings is in the first only: then it is looked at again.
  for (int attempt = 0; stands && attempt < 20; ++attempt) {
    seen = look_at(child);
    const auto& files = seen.look.composition->files;
    if (!files.empty() && files.front().cache.cached >= files.front().resident) break;
  }
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  ASSERT_TRUE(stands);
  EXPECT_GT(seen.bytes("file", "mdbx.dat"), 0u) << seen.text();
  const auto& files = seen.look.composition->files;
  ASSERT_FALSE(files.empty());
  const sources::CachedFile& database = files.front();
  EXPECT_EQ(database.path, path);
  EXPECT_EQ(database.database, "MDBX");
  EXPECT_EQ(database.file_bytes, 32 * kMebibyte);
  EXPECT_EQ(database.mapped, 64 * kMebibyte);
  EXPECT_EQ(database.resident, seen.bytes("file", "mdbx.dat"));
  ASSERT_NE(database.cache.way, sources::CacheWay::kUnknown) << database.cache.reason;
  EXPECT_TRUE(database.cache.whole);
  EXPECT_GE(database.cache.cached, database.resident) << "what is mapped in is cached";
  EXPECT_LE(database.cache.cached, 32 * kMebibyte);
}

}  // namespace
}  // namespace fathom::watch
