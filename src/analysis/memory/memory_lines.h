// What the resident memory of one process consists of, as lines that a person reads: each has a name, and with the
// unexplained they add up to RSS, always. Pure. Source: the rows of one composition (model/memory.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

struct MemoryLine {
  // "heap", "heap-live", "heap-free", "mapped", "anonymous", "thread-stacks", "main-stack", "code", "file",
  // "copied-pages", "memfd", "system-v", "shm", "shared-anonymous", "tracer", "kernel", "not-split"
  std::string_view kind;
  std::string name;  // "heap, jemalloc: dirty", "mdbx.dat", "stacks of 12 threads"
  std::uint64_t bytes = 0;
  std::uint64_t virtual_bytes = 0, swap_bytes = 0, huge_bytes = 0, ranges = 0;
  bool reclaimable = false;  // pages of a file: the kernel takes them back before it kills
  bool operator==(const MemoryLine&) const = default;
};

struct MemoryLines {
  std::uint64_t rss_bytes = 0;
  // RSS less all lines. Negative if pages were added after RSS was read. 0 for a stopped process.
  std::int64_t unexplained_bytes = 0;
  std::uint64_t huge_file_bytes = 0;  // explicit huge pages, not in RSS
  std::vector<MemoryLine> lines;      // most first; none has 0 bytes
};

// `rows`: of one process and moment; `names`: the profile that their ids refer to. `rss_bytes`: as the
// kernel reported it at that moment.
MemoryLines make_memory_lines(std::span<const model::MemoryRange> rows, const model::Profile& names,
                              std::uint64_t rss_bytes);

}  // namespace fathom::analysis
