// What the RSS of a process consists of at one moment: live blocks that the heap profile explains, what
// allocators hold beyond them, the program's own mappings, stacks, file data, and memory that cannot be
// attributed. For several processes that live at that moment it is the sum; shared pages count in each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/memory/file_cache.h"

namespace fathom::analysis {

// Parts of RSS. They add up to it.
struct MemoryPart {
  std::string_view key;  // "live", "mapped", "slack" ...
  HeapAmount bytes;
  bool anonymous = false;  // it is a part of the anonymous memory
  std::uint64_t ranges = 0;
};

// One kind of ranges with one name.
struct MemoryRangeRow {
  std::string_view kind;  // "allocator", "file", ...
  std::string name;
  std::string allocator;
  std::uint64_t ranges = 0;
  std::uint64_t virtual_bytes = 0, rss_bytes = 0, anonymous_bytes = 0, swap_bytes = 0, huge_bytes = 0;
  double live_blocks = 0, live_bytes = 0;
  HeapAmount live_resident;
};

// The same RSS by whether a second process has a page mapped too (shared), and whether it differs from its file or has none (dirty).
// Bytes. The first four add up to what was resident when they were read, at most ten seconds from the rest. `proportional` is PSS.
struct Sharing {
  double private_clean = 0, private_dirty = 0, shared_clean = 0, shared_dirty = 0;
  double proportional = 0;
};

struct RssBreakdown {
  double at_s = 0;                 // from the start of the recording
  bool at_end = false;             // that is the end of the recording
  std::optional<double> to_end_s;  // the process ended so long afterwards
  std::uint64_t processes = 0;
  bool traced = false;           // its heap was
  bool mappings_traced = false;  // and what the program maps by itself
  // Resident memory that may belong to untraced allocators; nullopt: there are none.
  std::optional<double> unseen_at_most;
  bool split = true;           // else its mappings could not be read
  bool live_is_bound = false;  // whether blocks are resident was not looked at: at most so many
  bool shared_out = false;     // two allocators have blocks in the same memory
  std::uint64_t rss = 0, anonymous = 0, file = 0, shared = 0, swap = 0, virtual_bytes = 0;
  std::uint64_t huge = 0;                     // of anonymous, on transparent huge pages
  std::uint64_t huge_file = 0;                // explicit huge pages, not in RSS
  std::optional<double> lazy_free;            // of anonymous, freed with MADV_FREE and not taken back yet
  std::optional<double> page_tables, cgroup;  // bytes, beyond and around RSS
  std::optional<Sharing> sharing;             // nullopt: not read of each of the processes
  double live_bytes = 0, live_blocks = 0;     // known blocks, resident or not
  HeapAmount live;                            // the resident part of them
  // So many bytes more were counted, or estimated from samples, than memory was resident for. Not in `live`.
  double overestimated = 0;
  // Of the anonymous memory, what stacks explain: live blocks and what the program mapped.
  HeapAmount explained;
  double coverage = 0, coverage_low = 0, coverage_high = 0;  // shares; the same where nothing is estimated
  // Blocks from before the recording are in the allocators' part; so many at most. nullopt: there are none.
  std::optional<double> earlier_at_most;
  // Of what allocators hold beyond live blocks: sizes rounded up to their classes. nullopt: not known.
  std::optional<double> rounding;
  std::vector<MemoryPart> parts;       // most first within anonymous memory, then the rest
  std::vector<MemoryRangeRow> ranges;  // most resident first
  // Mapped databases in the page cache, whichever process read them: not part of RSS, which includes only
  // the pages mapped in.
  std::vector<FileCacheRow> file_caches;

  double part(std::string_view key) const;  // bytes; 0 where there is no such part
};

// At the end of what is selected. nullopt: the recording knows nothing about it.
std::optional<RssBreakdown> make_rss_breakdown(const model::Profile& profile, const Selection& selection);

// "unknown", "file", "file-data", "shared", "allocator", "brk", "mapped", "main-stack", "thread-stack",
// "tracer", "kernel", "huge-file", "not-split".
std::string_view to_string(model::MemoryKind kind);

}  // namespace fathom::analysis
