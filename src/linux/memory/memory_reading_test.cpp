#include "linux/memory/memory_reading.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/memory/testing_kernel.h"
#include "linux/process/status.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kPage = 4096, kNever = 60'000'000'000;

process::MapEntry entry(std::uint64_t first, std::uint64_t pages, const std::string& path = "") {
  process::MapEntry made;
  made.start = {first * kPage};
  made.end = {(first + pages) * kPage};
  made.readable = made.writable = true;
  made.path = path;
  made.inode = path.starts_with('/') ? 1 : 0;
  return made;
}
PageRun run(std::uint64_t first, std::uint64_t pages) {
  return {.start = first * kPage, .end = (first + pages) * kPage, .resident = true};
}

MemoryReading sums_of(std::vector<process::MapEntry> entries, const std::vector<PageRun>& runs,
                      std::uint64_t swap = 0, const std::vector<bool>& huge_files = {}) {
  PageSums sums(std::move(entries), huge_files);
  for (const PageRun& one : runs) sums.add(one);
  MemoryReading reading;
  sums.finish(swap, reading);
  return reading;
}

TEST(PageSums, ARunOverSeveralMappingsIsCutAtTheirBorders) {
  const MemoryReading reading = sums_of({entry(10, 4), entry(14, 2), entry(20, 4)}, {run(12, 10)});
  EXPECT_EQ(reading.mappings[0].rss, 2 * kPage);
  EXPECT_EQ(reading.mappings[1].rss, 2 * kPage);
  EXPECT_EQ(reading.mappings[2].rss, 2 * kPage);
  EXPECT_EQ(reading.elsewhere, 4 * kPage) << "the gap: mapped since the map was read";
  EXPECT_EQ(reading.pages.resident(12 * kPage, 100 * kPage), 4 * kPage);
  EXPECT_EQ(reading.pages.resident(20 * kPage, 4 * kPage), 2 * kPage);
}

TEST(PageSums, RunsComeInAnyOrder) {
  const MemoryReading reading =
      sums_of({entry(10, 4), entry(20, 4)}, {run(22, 1), run(11, 2), run(5, 2), run(30, 1)});
  EXPECT_EQ(reading.mappings[0].rss, 2 * kPage);
  EXPECT_EQ(reading.mappings[1].rss, kPage);
  EXPECT_EQ(reading.elsewhere, 3 * kPage);
  EXPECT_EQ(reading.pages.resident(10 * kPage, 4 * kPage), 2 * kPage);
  EXPECT_EQ(reading.pages.resident(22 * kPage, kPage), kPage);
}

TEST(PageSums, WhosePageItIsDependsOnTheMapping) {
  std::vector<process::MapEntry> entries{entry(10, 4), entry(20, 4, "/bin/x"), entry(30, 4, "/memfd:y"),
                                         entry(40, 2, "[vdso]")};
  entries[2].shared = true;
  EXPECT_FALSE(PageSums::asks_of_file(entries[0]));
  EXPECT_TRUE(PageSums::asks_of_file(entries[1]));
  EXPECT_FALSE(PageSums::asks_of_file(entries[2]));
  EXPECT_TRUE(PageSums::asks_of_file(entries[3]));
  PageRun of_file = run(21, 3);
  of_file.of_file = true;
  PageRun of_vdso = run(40, 1);
  of_vdso.of_file = true;
  const MemoryReading reading = sums_of(entries, {run(10, 4), run(20, 1), of_file, run(30, 2), of_vdso});
  EXPECT_EQ(reading.mappings[0].anonymous, 4 * kPage);
  EXPECT_EQ(reading.mappings[1].rss, 4 * kPage);
  EXPECT_EQ(reading.mappings[1].anonymous, kPage) << "a page that the process changed";
  EXPECT_EQ(reading.mappings[2].anonymous, 0u);
  EXPECT_EQ(reading.mappings[2].rss, 2 * kPage);
  EXPECT_EQ(reading.mappings[3].anonymous, 0u);
}

TEST(PageSums, ZerosSwapAndHugeFilesAreNotResident) {
  PageRun zeros = run(10, 2), swapped = run(12, 2), huge = run(20, 512);
  zeros.resident = swapped.resident = false;
  swapped.swapped = huge.huge = true;
  const std::vector<process::MapEntry> entries{entry(10, 10), entry(20, 512, "/anon_hugepage")};
  const MemoryReading reading = sums_of(entries, {zeros, swapped, huge}, 100 * kPage, {false, true});
  EXPECT_EQ(reading.mappings[0].rss, 0u);
  EXPECT_EQ(reading.zero_bytes, 2 * kPage);
  EXPECT_EQ(reading.mappings[0].swap, 2 * kPage);
  EXPECT_EQ(reading.mappings[1].rss, 0u);
  EXPECT_EQ(reading.mappings[1].huge_file, 512 * kPage);
  EXPECT_EQ(sums_of(entries, {swapped}, 0).mappings[0].swap, 0u) << "guard pages of a process without swap";
}

// A child with some of every kind of memory, which stands still.
class Stopped {
 public:
  Stopped() {
    pid_ = ::fork();
    if (pid_ == 0) live();
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  ~Stopped() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  int pid() const { return pid_; }

 private:
  [[noreturn]] static void live() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto touch = [](void* start, std::size_t bytes, std::size_t step) {
      for (std::size_t i = 0; i < bytes; i += step) static_cast<volatile char*>(start)[i] = 1;
    };
    const auto map = [](std::size_t bytes, int flags, int fd) {
      return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    };
    constexpr std::size_t kSize = 8 << 20;
    touch(map(kSize, MAP_PRIVATE | MAP_ANONYMOUS, -1), kSize, 3 * kPage);
    void* huge = map(2 * kSize, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    ::madvise(huge, 2 * kSize, MADV_HUGEPAGE);
    touch(huge, 2 * kSize, kPage);
    const int memory = ::memfd_create("pages", 0);
    if (::ftruncate(memory, kSize) == 0) touch(map(kSize, MAP_SHARED, memory), kSize, 2 * kPage);
    touch(map(kSize, MAP_PRIVATE, memory), kSize / 4, kPage);
    touch(map(kSize, MAP_SHARED | MAP_ANONYMOUS, -1), kSize / 2, kPage);
    void* zeros = map(kSize, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    ::madvise(zeros, kSize, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < kSize; i += kPage) (void)static_cast<volatile char*>(zeros)[i];
    const int program = ::open("/proc/self/exe", O_RDONLY);
    void* file = map(64 * kPage, MAP_PRIVATE, program);
    for (std::size_t i = 0; i < 64; ++i) (void)static_cast<volatile char*>(file)[i * kPage];
    touch(file, 16 * kPage, kPage);
    for (;;) ::raise(SIGSTOP);
  }
  pid_t pid_ = -1;
};

// The scan separates memory that the kernel merged with a library's zeroed data (zeroed_data.h), and smaps
// does not.
std::vector<MemoryMapping> joined_as(const std::vector<MemoryMapping>& whole,
                                     const std::vector<MemoryMapping>& parts) {
  std::vector<MemoryMapping> joined;
  for (const MemoryMapping& part : parts) {
    const std::size_t at = joined.size();
    if (at != 0 && at <= whole.size() && joined.back().entry.end < whole[at - 1].entry.end) {
      MemoryMapping& last = joined.back();
      last.entry.end = part.entry.end;
      last.rss += part.rss;
      last.anonymous += part.anonymous;
      last.swap += part.swap;
      last.huge += part.huge;
      last.huge_file += part.huge_file;
    } else {
      joined.push_back(part);
    }
    if (joined.size() <= whole.size())
      joined.back().not_zeroed_data = whole[joined.size() - 1].not_zeroed_data;
  }
  return joined;
}

TEST(MemoryReading, OfAStoppedProcessIsSmapsAndItsRssToTheKilobyte) {
  FATHOM_NEEDS_PAGE_SCAN();
  Stopped target;
  // The kernel itself may move pages of a process that stands still (reclaim, huge pages that it builds): what two
  // scans agree on must be what smaps said between them.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto first = read_mappings(target.pid(), kNever);
    ASSERT_TRUE(first) << first.error().message;
    const auto smaps = read_mappings(target.pid(), kNever, true);
    ASSERT_TRUE(smaps) << smaps.error().message;
    const auto status = process::read_status(target.pid());
    ASSERT_TRUE(status);
    const auto second = read_mappings(target.pid(), kNever);
    ASSERT_TRUE(second && second->whole && smaps->whole);
    EXPECT_EQ(second->way, ReadingWay::kPageScan);
    EXPECT_EQ(smaps->way, ReadingWay::kSmaps);
    if (first->mappings != second->mappings) continue;
    const std::vector<MemoryMapping> joined = joined_as(smaps->mappings, first->mappings);
    ASSERT_EQ(joined.size(), smaps->mappings.size());
    std::uint64_t rss = 0, anonymous = 0;
    for (std::size_t i = 0; i < smaps->mappings.size(); ++i) {
      const MemoryMapping& scanned = joined[i];
      MemoryMapping told = smaps->mappings[i];
      told.proportional = told.dirty = 0;  // of smaps alone
      EXPECT_EQ(scanned, told) << i << " " << told.entry.path << " rss " << scanned.rss << " " << told.rss
                               << " anonymous " << scanned.anonymous << " " << told.anonymous << " huge "
                               << scanned.huge << " " << told.huge << " swap " << scanned.swap << " "
                               << told.swap;
      rss += scanned.rss;
      anonymous += scanned.anonymous;
    }
    EXPECT_EQ(first->elsewhere, 0u);
    if (kernel_has_page_of_zeros()) {
      EXPECT_GE(first->zero_bytes, std::uint64_t{8} << 20);
    }
    if (kernel_tells_rss_exactly()) {
      EXPECT_EQ(rss, status->rss_anon + status->rss_file + status->rss_shmem);
      EXPECT_EQ(anonymous, status->rss_anon);
    }
    return;
  }
  FAIL() << "no two scans agreed";
}

TEST(MemoryReading, TheKernelIsAskedForTheScan) {
  EXPECT_EQ(has_page_scan(), kernel_scans_pages());
}

TEST(MemoryReading, KnowsWhichAnonymousPagesAreThere) {
  FATHOM_NEEDS_PAGE_SCAN();
  Stopped target;
  const auto reading = read_mappings(target.pid(), kNever);
  ASSERT_TRUE(reading) << reading.error().message;
  for (const MemoryMapping& mapping : reading->mappings) {
    if (mapping.entry.shared) continue;
    EXPECT_EQ(reading->pages.resident(mapping.entry.start.value, mapping.entry.size()), mapping.anonymous)
        << mapping.entry.path;
  }
}

TEST(MemoryReading, ABudgetEndsItAndAProcessThatIsGoneIsReported) {
  const auto reading = read_mappings(::getpid(), 0);
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_FALSE(reading->whole);
  EXPECT_EQ(read_mappings(99'999'999, kNever).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read_mappings(99'999'999, kNever, true).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::sources
