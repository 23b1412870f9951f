// How much CPU time went into the allocators, if CPU was sampled along with the heap, and which code caused
// it. A sample counts if an allocator's function is at its leaf, followed only by what allocators call:
// their own functions, memset and memcpy of calloc and realloc, kernel calls and page faults. Functions are
// identified by name or by hook; an allocator linked into a stripped program is only found at its hooked
// functions, so shares are lower bounds there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/interval.h"
#include "analysis/core/selection.h"

namespace fathom::analysis {

struct AllocatorCpuRow {
  std::string name, module;  // of the function that wanted the memory: above container frames (HeapLeaves)
  std::int64_t inside = 0;   // samples
};

struct AllocatorCpu {
  std::int64_t total = 0;        // samples of the selection, without those of the heap tracer itself
  std::int64_t inside = 0;       // in an allocator, with what it called
  std::int64_t kernel = 0;       // of these, in the kernel: madvise, munmap, page faults of the allocator
  std::int64_t page_faults = 0;  // anywhere: first touches of new memory are the program's own
  std::int64_t tracer = 0;       // in the heap tracer
  std::vector<AllocatorCpuRow> functions;  // most first
  double share() const { return total == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(total); }
  Interval interval() const { return wilson_interval(share(), static_cast<double>(total)); }
};

// Nothing where CPU was not sampled. `profile` has passed check().
std::optional<AllocatorCpu> allocator_cpu(const model::Profile& profile, const Selection& selection);
// The same by the place of the process among those of the profile; a process without a sample is not among them.
std::optional<std::map<std::uint32_t, AllocatorCpu>> allocator_cpu_by_process(const model::Profile& profile,
                                                                              const Selection& selection);

}  // namespace fathom::analysis
