// Which pages of a process are resident, as runs of pages. Source: the kernel's admin-guide/mm/pagemap.rst,
// ioctl PAGEMAP_SCAN (Linux 6.7); needs ptrace access. Measured on 6.18: 17 ns for each resident page of 4
// KiB, nothing for memory that was never touched, 0.3 us a mapping; smaps takes 107 ns and 2.8 us, and holds
// the process's mmap_lock for a whole mapping.
//
// The scan never blocks a writer for long, because it is cut into calls of 8,192 pages with a pause between
// them: without the pause it would take the lock again before a sleeping writer has woken up. It asks for
// PAGE_IS_FILE only if the mapping does not show it, because that reads each page's own record and costs
// three times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::sources {

// Pages side by side of which the kernel says the same. A page is resident when it counts in RSS: the shared page of
// zeros, which stands for memory that was only read, does not.
struct PageRun {
  std::uint64_t start = 0, end = 0;
  bool resident = false, swapped = false;
  bool huge = false;     // on a huge page that is mapped as a whole
  bool of_file = false;  // where it was asked for: a page of a file, or of shared memory
  bool operator==(const PageRun&) const = default;
};

// The kernel's own structures, as the headers of older systems lack them.
struct PageRegion {
  std::uint64_t start, end, categories;
};
struct PageScanArguments {
  std::uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages, inverted, all_of,
      any_of, returned;
};
enum PageCategory : std::uint64_t {
  kPageOfFile = 1 << 2,
  kPagePresent = 1 << 3,
  kPageSwapped = 1 << 4,
  kPageZero = 1 << 5,
  kPageHuge = 1 << 6,
};

class PageScan {
 public:
  // The ioctl, or what stands in for it in a test: the number of regions that were filled, or a negative errno.
  using Call = std::function<int(PageScanArguments&)>;
  using Pause = std::function<void()>;
  using Take = std::function<void(const PageRun&)>;

  // kUnsupported: this kernel has no PAGEMAP_SCAN. kPermission: no ptrace access. kNotFound: no such process.
  static Result<PageScan> open(std::int32_t pid);
  PageScan(Call call, Pause pause) : call_(std::move(call)), pause_(std::move(pause)) {}

  // Gives the runs of [start, end) in ascending order; multiples of a page. `ask_of_file`: PageRun::of_file. False:
  // `until_ns` (CLOCK_MONOTONIC) was reached before the end.
  Result<bool> scan(std::uint64_t start, std::uint64_t end, bool ask_of_file, std::uint64_t until_ns,
                    const Take& take);

  std::uint64_t calls() const { return calls_; }
  std::uint64_t longest_ns() const { return longest_ns_; }  // one call: for so long at most was the lock held

 private:
  PageScan() = default;
  void pace(std::uint64_t took_ns, std::uint64_t pages);

  Fd fd_;
  Call call_;
  Pause pause_;
  std::vector<PageRegion> regions_;
  std::uint64_t span_bytes_ = std::uint64_t{1} << 30;  // of address space in one call
  std::uint64_t calls_ = 0, longest_ns_ = 0, since_pause_ns_ = 0, since_pause_pages_ = 0;
};

}  // namespace fathom::sources
