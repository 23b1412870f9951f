// Which pages of a process are in memory: ranges that were looked at, and the resident runs in them. Source: a scan
// (page_scan.h), or, on kernels without it, proc(5), /proc/PID/pagemap, which needs ptrace access and costs about 5 ns
// a page of address space, in pieces of 2 MiB for which the kernel holds the mmap_lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::sources {

class ResidentPages {
 public:
  static constexpr std::uint64_t kPage = 4096;

  static Result<ResidentPages> open(std::int32_t pid);

  // Reads [start, end), which lies after all previous ranges. Addresses are multiples of a page. False: it
  // could not be read, and nothing is known about it.
  bool read(std::uint64_t start, std::uint64_t end);
  // The same from what is known already, a flag a page.
  void add(std::uint64_t start, const std::vector<bool>& resident);
  // A range was read, followed by its resident runs. Each after all previous ones.
  void add_range(std::uint64_t start, std::uint64_t end);
  void add_run(std::uint64_t start, std::uint64_t end);

  bool knows(std::uint64_t address) const { return find(address) != nullptr; }
  // Bytes of [start, start + size) that are in memory, as far as known.
  std::uint64_t resident(std::uint64_t start, std::uint64_t size) const;
  // visit(start, end) for each resident run, ascending.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    for (const Run& run : runs_) visit(run.start, run.end);
  }
  std::uint64_t pages() const { return pages_; }  // looked at

  ResidentPages() = default;

 private:
  struct Range {
    std::uint64_t start, end;
  };
  struct Run {
    std::uint64_t start, end;
    std::uint64_t before;  // bytes of the runs before it
  };
  const Range* find(std::uint64_t address) const;
  std::uint64_t resident_below(std::uint64_t address) const;
  Fd fd_;
  std::vector<Range> ranges_;
  std::vector<Run> runs_;
  std::uint64_t pages_ = 0;
};

}  // namespace fathom::sources
