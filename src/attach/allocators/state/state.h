// What the allocators of a living process hold, as read from outside: how much the program uses, how much is
// free in them, in which state, and where. Plain values: the readers fill them, and sentences and tables are
// made from them.
//
// All sizes are bytes. `resident` counts pages that are in memory at that moment; some of a line's bytes may
// never have been touched, so it can be less. The readers neither stop the process nor run code in it, so
// data that changes during the reading is counted (`moved`) and never guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::allocators {

enum class HeldKind : std::uint8_t {
  kLive,  // used by the program; includes blocks in jemalloc's thread caches, as jemalloc's own statistics do
  kFreeInSlabs,  // jemalloc: free blocks among live ones, in runs of pages of one size class
  kPadding,      // jemalloc: the extra page of a large block
  kDirty,        // jemalloc: free pages that still belong to the process
  kMuzzy,        // jemalloc: free pages that the kernel may take (MADV_FREE)
  kRetained,     // jemalloc: reserved address space whose pages were returned
  kMetadata,     // the allocator's own records
  kBins,         // glibc: free chunks in bins
  kFastBins,     // glibc: free chunks in fast bins, not yet merged with their neighbours
  kThreadCache,  // glibc: free chunks in the caches of threads, if these were found
  kTop,          // glibc: the free end of each heap
  kMapped,       // glibc: blocks with their own mapping; used by the program
};
std::string_view to_string(HeldKind kind);  // "live", "free_in_slabs", "padding", "dirty" ...

struct HeldLine {
  HeldKind kind = HeldKind::kLive;
  std::uint64_t bytes = 0;
  std::uint64_t resident = 0;
  // Live and free blocks share pages: divides their resident bytes in proportion to their sizes.
  bool resident_is_shared_out = false;
  bool operator==(const HeldLine&) const = default;
};

// Whole pages. Live blocks and the free blocks between them share pages: both are kLive here.
struct HeldRange {
  std::uint64_t start = 0, end = 0;
  HeldKind kind = HeldKind::kLive;
  bool operator==(const HeldRange&) const = default;
};

struct HeldArena {
  std::uint64_t index = 0;  // jemalloc's number; for glibc 0 is the main arena, then in list order
  std::uint64_t live = 0;   // bytes used by the program
  std::uint64_t free = 0;   // free in it and not returned: slabs, dirty and muzzy pages; bins, caches and top
  std::uint64_t held = 0;   // both, and the gaps between them
};

// One size class of jemalloc.
struct HeldClass {
  std::uint64_t size = 0;  // of a block
  std::uint64_t slabs = 0, slab_bytes = 0;
  std::uint64_t blocks = 0;  // number that fits
  std::uint64_t used = 0;    // number in use
};

enum class Certainty : std::uint8_t {
  kVerified,  // all data is consistent
  kMoved,     // the process changed it during the reading, by at most `moved_bytes`
  kUnknown,   // no number may be shown; `reason` says why
};

struct AllocatorState {
  std::string name;    // "jemalloc", "glibc"
  std::string layout;  // of its records: "5.3", "2.35 or later"; "" unknown
  std::string module;  // path of the file that contains it
  Certainty certainty = Certainty::kUnknown;
  std::string reason;               // for kUnknown; otherwise the limits of the numbers, may be empty
  std::vector<HeldLine> lines{};    // each kind once; kinds that this allocator does not have are missing
  std::vector<HeldRange> ranges{};  // ascending, without overlap
  bool ranges_complete = true;      // false: only some of them are kept
  std::vector<HeldArena> arenas{};
  std::vector<HeldClass> classes{};  // ascending by size
  std::uint64_t records = 0;         // number of extents or chunks read
  std::uint64_t moved = 0;           // of these: changed during the reading, or not in memory
  std::uint64_t moved_bytes = 0;     // the possible error of a line because of this
  // Resident free memory between live blocks in kLive ranges. In proportion to the sizes, because they share
  // pages.
  std::uint64_t free_in_live_pages = 0;
  // Resident bytes that the allocator's own call would give back now (malloc_trim(0), a purge of all arenas).
  std::uint64_t returnable = 0;
  // glibc: the part of `returnable` at the end of the main arena, which a trim threshold would have given
  // back.
  std::uint64_t returnable_top = 0;
  std::optional<std::uint64_t> trim_threshold{};  // current value of glibc's

  const HeldLine* line(HeldKind kind) const;  // null if there is none
  std::uint64_t bytes(HeldKind kind) const;   // 0 if there is none
  std::uint64_t resident(HeldKind kind) const;
};

// The reason if a reading stopped early because its time or its bytes were used up.
inline constexpr std::string_view kTooMuch = "reading its records takes more than is allowed for it";

struct AllocatorStates {
  std::vector<AllocatorState> allocators;
  bool cut = false;            // a limit was reached: some allocators may be missing
  std::uint64_t pages_ns = 0;  // time to find out which pages are in memory
  std::uint64_t took_ns = 0;   // total time
};

}  // namespace fathom::allocators
