// The mappings of a process with what of each is resident, and which pages that are: one look, by the cheapest way that
// the kernel has. With PAGEMAP_SCAN (page_scan.h) the process is hardly held up, and a look may be repeated; without it
// smaps (memory_map.h) is left, which is for one look and not for a timer.
//
// The pages of a process that runs move while they are read; of one that stands still the sum over its mappings is its
// RSS to the kilobyte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/memory/memory_map.h"
#include "linux/memory/page_scan.h"
#include "linux/memory/resident_pages.h"

namespace fathom::sources {

enum class ReadingWay : std::uint8_t { kPageScan, kSmaps };

struct MemoryReading {
  ReadingWay way = ReadingWay::kPageScan;
  std::vector<MemoryMapping> mappings;
  ResidentPages pages;  // of a scan: of all mappings, as long as the runs are not too many
  // Of a scan: what of the process's own memory lies on huge pages, first and end; ascending.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> huge_runs;
  bool whole = false;            // else the budget ran out, and the sum is unknown
  std::uint64_t zero_bytes = 0;  // mapped to the page of zeros, and no part of RSS; of a scan
  std::uint64_t elsewhere = 0;   // resident bytes that came into no mapping: mapped since the map was read
  std::uint64_t took_ns = 0;     // all of it
  std::uint64_t longest_ns = 0;  // one call: for so long at most was the lock held
};

// Runs of pages -> mappings. Pure.
class PageSums {
 public:
  // Which kernel interface to use for a mapping: only in private file mappings may a page belong to the file
  // or to the process.
  static bool asks_of_file(const process::MapEntry& entry);

  // `entries`: ascending, not overlapping. Those of `huge_files` (same size, or empty) are of hugetlbfs, whose pages
  // are no part of RSS.
  PageSums(std::vector<process::MapEntry> entries, const std::vector<bool>& huge_files);
  // In any order. A run may reach over several mappings, and over the gaps between.
  void add(const PageRun& run);
  // `swap_bytes`: of the whole process, as status has it; the entries that the scan calls swapped out hold other
  // things as well (guard pages, pages that are being moved).
  void finish(std::uint64_t swap_bytes, MemoryReading& reading);

 private:
  // More runs than this are not kept: 24 MiB, and enough for 4 GiB of which every other page is resident.
  static constexpr std::size_t kMostRuns = std::size_t{1} << 20;
  std::vector<MemoryMapping> mappings_;
  std::vector<bool> huge_files_;
  struct Run {
    std::uint64_t start, end;
  };
  std::vector<Run> runs_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> huge_runs_;
  bool too_many_ = false;
  std::size_t hint_ = 0;
  std::uint64_t zero_bytes_ = 0, elsewhere_ = 0;
};

// Facts that only the files behind the mappings provide.
struct FileAnswers {
  std::vector<process::MapEntry> entries;  // zeroed data is split from what lies behind it (zeroed_data.h)
  std::vector<std::uint64_t>
      not_zeroed;                // starts of those that look like zeroed data and are none; ascending
  std::vector<bool> huge_files;  // of hugetlbfs; as long as `entries`
};
// `has_huge_files`: the process has pages of hugetlbfs, so the kernel is asked which mappings they are in.
FileAnswers ask_files(std::int32_t pid, std::vector<process::MapEntry> entries, bool has_huge_files);

// Calls the functions above. The file system may be the target's own (FUSE) and never answer, so callers that
// must not block forever use an abandonable thread. nullopt: no answer; only the map describes the mappings.
using AskFiles = std::function<std::optional<FileAnswers>(
    std::int32_t pid, const std::vector<process::MapEntry>& entries, bool has_huge_files)>;

// `budget_ns`: starts no further call after it. kNotFound: no such process, or one without memory.
// kPermission: no ptrace access. `by_smaps`: as on a kernel without PAGEMAP_SCAN; then files are not queried.
Result<MemoryReading> read_mappings(std::int32_t pid, std::uint64_t budget_ns, bool by_smaps = false,
                                    const AskFiles& ask = ask_files);

// Whether this kernel has the scan: tried once on ourselves.
bool has_page_scan();

}  // namespace fathom::sources
