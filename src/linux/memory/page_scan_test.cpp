#include "linux/memory/page_scan.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <optional>

#include "linux/memory/testing_kernel.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kScanPage = 4096;
constexpr std::uint64_t kNotSoon = UINT64_MAX;

static_assert(sizeof(PageScanArguments) == 96, "include/uapi/linux/fs.h, struct pm_scan_arg");
static_assert(sizeof(PageRegion) == 24, "struct page_region");

// Answers as fs/proc/task_mmu.c does: it gathers regions in a buffer, and writes walk_end when that is full.
class FakeKernel {
 public:
  std::vector<bool> resident;  // from address 0
  std::size_t buffer = 512;
  bool forgets_walk_end = false;  // as it does after the last of several buffers
  std::uint64_t calls = 0, forgotten = 0;

  int operator()(PageScanArguments& asked) {
    ++calls;
    EXPECT_LE(asked.most_pages, 16'384u) << "one call holds the lock for so many pages";
    auto* out = reinterpret_cast<PageRegion*>(asked.regions);
    std::size_t count = 0;
    std::uint64_t pages = 0, page = asked.start / kScanPage;
    asked.walk_end = 0;
    for (; page < asked.end / kScanPage && page < resident.size(); ++page) {
      if (!resident[page]) continue;
      if (count > 0 && out[count - 1].end == page * kScanPage) {
        out[count - 1].end += kScanPage;
      } else {
        if (count == asked.region_count) return ended(asked, page, count);
        out[count++] = {page * kScanPage, (page + 1) * kScanPage, kPagePresent};
        if (count == buffer) asked.walk_end = page * kScanPage;
      }
      if (++pages == asked.most_pages) return ended(asked, page + 1, count);
    }
    if (forgets_walk_end && asked.walk_end != 0)
      ++forgotten;
    else
      asked.walk_end = asked.end;
    return static_cast<int>(count);
  }

 private:
  static int ended(PageScanArguments& asked, std::uint64_t page, std::size_t count) {
    asked.walk_end = page * kScanPage;
    return static_cast<int>(count);
  }
};

struct Scanned {
  std::uint64_t pages = 0, last = 0;
  bool ascending = true;
  void take(const PageRun& run) {
    ascending = ascending && run.start >= last && run.end > run.start;
    last = run.end;
    if (run.resident) pages += (run.end - run.start) / kScanPage;
  }
};

Scanned scan_all(FakeKernel& kernel, int* pauses = nullptr) {
  Scanned scanned;
  PageScan scan([&](PageScanArguments& asked) { return kernel(asked); },
                [&] {
                  if (pauses != nullptr) ++*pauses;
                });
  const auto done = scan.scan(0, kernel.resident.size() * kScanPage, false, kNotSoon,
                              [&](const PageRun& run) { scanned.take(run); });
  EXPECT_TRUE(done && *done);
  return scanned;
}

TEST(PageScan, EveryPageComesOnceForAnyEndThatTheKernelReports) {
  for (const bool forgets : {false, true}) {
    FakeKernel kernel;
    kernel.buffer = 100;  // several buffers in one call, as with a vector above 512
    kernel.forgets_walk_end = forgets;
    kernel.resident.assign(20'300, false);  // 5,800 regions: in the last call 168, more than a buffer
    for (std::size_t i = 0; i < kernel.resident.size(); i += 1 + i % 7) kernel.resident[i] = true;
    const Scanned scanned = scan_all(kernel);
    EXPECT_EQ(scanned.pages, std::accumulate(kernel.resident.begin(), kernel.resident.end(), 0u)) << forgets;
    EXPECT_TRUE(scanned.ascending);
    EXPECT_EQ(kernel.forgotten, forgets ? 1u : 0u);
  }
}

TEST(PageScan, PausesBetweenCallsSoThatAWriterGetsTheLock) {
  FakeKernel kernel;
  kernel.resident.assign(100'000, true);
  int pauses = 0;
  EXPECT_EQ(scan_all(kernel, &pauses).pages, 100'000u);
  EXPECT_GE(kernel.calls, 100'000u / 16'384);
  EXPECT_GE(pauses, 100'000 / 16'384);
}

TEST(PageScan, MemoryThatWasNeverTouchedTakesFewCalls) {
  FakeKernel kernel;  // 64 TiB of nothing
  PageScan scan([&](PageScanArguments& asked) { return kernel(asked); }, [] {});
  ASSERT_TRUE(scan.scan(0, std::uint64_t{1} << 46, false, kNotSoon, [](const PageRun&) {}));
  EXPECT_LT(scan.calls(), 2'000u);
}

TEST(PageScan, AKernelThatDoesNotGetOnIsAnError) {
  const auto answer = [](auto fill) {
    PageScan scan(
        [fill](PageScanArguments& asked) {
          return fill(asked, reinterpret_cast<PageRegion*>(asked.regions));
        },
        [] {});
    return scan.scan(kScanPage, 100 * kScanPage, false, kNotSoon, [](const PageRun&) {});
  };
  EXPECT_FALSE(answer([](PageScanArguments&, PageRegion* out) {
    out[0] = {0, kScanPage, kPagePresent};  // before what was asked for
    return 1;
  }));
  EXPECT_FALSE(answer([](PageScanArguments& asked, PageRegion* out) {
    out[0] = {asked.start, asked.end + kScanPage, kPagePresent};
    return 1;
  }));
  EXPECT_FALSE(answer([](PageScanArguments& asked, PageRegion* out) {
    out[0] = {asked.start, asked.start, kPagePresent};
    return 1;
  }));
  EXPECT_EQ(answer([](PageScanArguments&, PageRegion*) { return -ESRCH; }).error().kind,
            ErrorKind::kNotFound);
}

TEST(PageScan, ADeadlineEndsIt) {
  FakeKernel kernel;
  kernel.resident.assign(10, true);
  PageScan scan([&](PageScanArguments& asked) { return kernel(asked); }, [] {});
  const auto done = scan.scan(0, 10 * kScanPage, false, 0, [](const PageRun&) {});
  ASSERT_TRUE(done);
  EXPECT_FALSE(*done);
  EXPECT_EQ(kernel.calls, 0u);
}

class PageScanOfThisProcess : public testing::Test {
 protected:
  void SetUp() override {
    FATHOM_NEEDS_PAGE_SCAN();
    auto scan = PageScan::open(::getpid());
    ASSERT_TRUE(scan) << scan.error().message;
    scan_.emplace(std::move(*scan));
    start_ = static_cast<volatile char*>(
        ::mmap(nullptr, kPages * kScanPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(start_, MAP_FAILED);
    ::madvise(const_cast<char*>(start_), kPages * kScanPage, MADV_NOHUGEPAGE);
  }
  void TearDown() override {
    if (start_ != nullptr) ::munmap(const_cast<char*>(start_), kPages * kScanPage);
  }
  std::vector<PageRun> runs() {
    std::vector<PageRun> all;
    const auto from = reinterpret_cast<std::uint64_t>(start_);
    const auto done = scan_->scan(from, from + kPages * kScanPage, false, kNotSoon,
                                  [&](const PageRun& run) { all.push_back(run); });
    EXPECT_TRUE(done && *done);
    return all;
  }
  static constexpr std::size_t kPages = 3000;
  std::optional<PageScan> scan_;
  volatile char* start_ = nullptr;
};

TEST_F(PageScanOfThisProcess, FindsWhatWasTouchedAndTouchesNothing) {
  EXPECT_TRUE(runs().empty());
  EXPECT_TRUE(runs().empty()) << "looking must not map pages, as reading the memory would";
  for (std::size_t i = 0; i < kPages; i += 3) start_[i * kScanPage] = 1;
  const auto found = runs();
  ASSERT_EQ(found.size(), kPages / 3);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::uint64_t at = reinterpret_cast<std::uint64_t>(start_) + 3 * i * kScanPage;
    EXPECT_EQ(found[i], (PageRun{.start = at, .end = at + kScanPage, .resident = true}));
  }
}

TEST_F(PageScanOfThisProcess, ThePageOfZerosIsNotResident) {
  FATHOM_NEEDS_PAGE_OF_ZEROS();
  for (std::size_t i = 0; i < 10; ++i) (void)start_[i * kScanPage];
  start_[10 * kScanPage] = 1;
  std::uint64_t resident = 0, zeros = 0;
  for (const PageRun& run : runs()) (run.resident ? resident : zeros) += (run.end - run.start) / kScanPage;
  EXPECT_EQ(resident, 1u);
  EXPECT_EQ(zeros, 10u);
}

TEST(PageScan, OfNoProcess) {
  EXPECT_EQ(PageScan::open(99'999'999).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::sources
