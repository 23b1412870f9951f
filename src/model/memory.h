// What the memory of a process was made of at some moments: rows of one composition have one time and one
// process. Ranges of one kind, name and allocator are one row. All that is resident is in the rows, so their
// rss_bytes add up to the process's RSS.
#pragma once

#include <compare>
#include <cstdint>

#include "model/ids.h"

namespace fathom::model {

enum class MemoryKind : std::uint8_t {
  kUnknown,    // anonymous memory of which nothing is known
  kFile,       // pages of a mapped file, as they are in the file. Name: its path
  kFileData,   // pages of a mapped file that the process changed, and zeroed data behind them (.data, .bss)
  kShared,     // memory without a file that may be shared: memfd, System V, /dev/shm
  kAllocator,  // of an allocator: known blocks are live in it, or its shape tells
  kBreak,      // the heap of brk, where no block of an allocator is known
  kMapped,     // the program mapped it without an allocator
  kMainStack,
  kThreadStack,  // name: of the thread, empty where it has ended or was not found
  kTracer,       // fathom's own, in the target while its heap is traced
  kKernel,       // vdso and its data
  kHugeFile,     // explicit huge pages (hugetlbfs), which are no part of RSS: rss_bytes is 0
  kNotSplit,     // anonymous memory as a whole: its ranges were not read, as that would have taken too long
};

struct MemoryRange {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  ProcessId process;
  MemoryKind kind = MemoryKind::kUnknown;
  StringId name;              // "/usr/lib/libc.so.6", "worker", "[anon:pool]", "glibc arena"; may be empty
  HeapAllocatorId allocator;  // of kAllocator; row 0: none is known
  std::uint64_t ranges = 0;   // so many mappings, or parts of them
  std::uint64_t virtual_bytes = 0, rss_bytes = 0, swap_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  // of rss_bytes: pages that are no file's and not shared
  std::uint64_t huge_bytes = 0;       // of rss_bytes, on transparent huge pages; of kHugeFile all
  // Blocks that were live in it at that moment, as far as the tracer knows them: bytes as asked for, and how
  // many of these were resident. Estimates where the heap was sampled, with the variance of the latter.
  double live_blocks = 0, live_bytes = 0, live_resident_bytes = 0, live_resident_variance = 0;
  // The pages were not looked at: live_resident_bytes is the lesser of live_bytes and rss_bytes.
  bool live_is_bound = false;
  // Blocks of another allocator are in the same memory, which was shared out in proportion to the blocks.
  bool shared_out = false;
  auto operator<=>(const MemoryRange&) const = default;
};

}  // namespace fathom::model
