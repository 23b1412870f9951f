// What the allocators of a living process hold, as read from outside: how much the program uses, how much lies free
// in them, in which state, and where. Plain values: the readers fill them, sentences and tables are made of them.
//
// All sizes are bytes. `resident` counts pages that are in memory at that moment; a line's bytes may never have been
// touched, so it can be less. The readers neither stop the process nor run code in it, so what moved meanwhile is
// counted (`moved`) and never guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::allocators {

enum class HeldKind : std::uint8_t {
  kLive,  // the program has it. Blocks in jemalloc's thread caches are among it, as in its own statistics
  kFreeInSlabs,  // jemalloc: free blocks among live ones, in runs of pages of one size class
  kPadding,      // jemalloc: the page that a large block gets beyond its size
  kDirty,        // jemalloc: free pages that are still the process's
  kMuzzy,        // jemalloc: free pages that the kernel may take (MADV_FREE)
  kRetained,     // jemalloc: address space that is kept; its pages were given back
  kMetadata,     // the allocator's own records
  kBins,         // glibc: free chunks in bins
  kFastBins,     // glibc: free chunks in fast bins, not merged with their neighbours yet
  kThreadCache,  // glibc: free chunks in the caches of threads, as far as these were found
  kTop,          // glibc: the free end of each heap
  kMapped,       // glibc: blocks with a mapping of their own; the program has them
};
std::string_view to_string(HeldKind kind);  // "live", "free_in_slabs", "padding", "dirty" ...

struct HeldLine {
  HeldKind kind = HeldKind::kLive;
  std::uint64_t bytes = 0;
  std::uint64_t resident = 0;
  // Live and free blocks share pages: their resident bytes are divided in proportion to their sizes.
  bool resident_is_shared_out = false;
  bool operator==(const HeldLine&) const = default;
};

// Whole pages. What is live and what is free between live blocks lie in the same pages: both are kLive here.
struct HeldRange {
  std::uint64_t start = 0, end = 0;
  HeldKind kind = HeldKind::kLive;
  bool operator==(const HeldRange&) const = default;
};

struct HeldArena {
  std::uint64_t index = 0;  // jemalloc's number; of glibc 0 is the main arena, then in the order of its list
  std::uint64_t live = 0;   // bytes that the program has
  std::uint64_t free = 0;   // in it and not given back: slabs, dirty and muzzy pages; bins, caches and top
  std::uint64_t held = 0;   // both, and what lies between
};

// One size class of jemalloc.
struct HeldClass {
  std::uint64_t size = 0;  // of a block
  std::uint64_t slabs = 0, slab_bytes = 0;
  std::uint64_t blocks = 0;  // that fit in
  std::uint64_t used = 0;    // of them
};

enum class Certainty : std::uint8_t {
  kVerified,  // everything that was read agrees with everything else
  kMoved,     // the process changed it meanwhile, within `moved_bytes`
  kUnknown,   // nothing can be said, and `reason` says why: no number of it is to be shown
};

struct AllocatorState {
  std::string name;    // "jemalloc", "glibc"
  std::string layout;  // whose records it reads by: "5.3", "2.35 or later"; "" unknown
  std::string module;  // path of the file that it is part of
  Certainty certainty = Certainty::kUnknown;
  std::string reason;               // of kUnknown; else what limits the numbers, may be empty
  std::vector<HeldLine> lines{};    // each kind once; what this allocator does not have is not listed
  std::vector<HeldRange> ranges{};  // ascending, not overlapping
  bool ranges_complete = true;      // else there are more of them than are kept
  std::vector<HeldArena> arenas{};
  std::vector<HeldClass> classes{};  // ascending by size
  std::uint64_t records = 0;         // extents, or chunks, that were read
  std::uint64_t moved = 0;           // of them changed while they were read, or are not in memory
  std::uint64_t moved_bytes = 0;     // how far a line can be off for that
  // Of the resident pages of kLive ranges: what is free there, among live blocks. In proportion to the sizes, as pages are
  // shared.
  std::uint64_t free_in_live_pages = 0;
  // What the allocator's own call would give back now (malloc_trim(0), a purge of all arenas): resident bytes.
  std::uint64_t returnable = 0;
  // glibc: of `returnable`, at the end of the main arena, where a trim threshold would have given it back.
  std::uint64_t returnable_top = 0;
  std::optional<std::uint64_t> trim_threshold{};  // of glibc, as it is now

  const HeldLine* line(HeldKind kind) const;  // null: there is none
  std::uint64_t bytes(HeldKind kind) const;   // 0 where there is none
  std::uint64_t resident(HeldKind kind) const;
};

// The reason of what was not read to its end, for its time or its bytes were used up.
inline constexpr std::string_view kTooMuch = "reading its records takes more than is allowed for it";

struct AllocatorStates {
  std::vector<AllocatorState> allocators;
  bool cut = false;            // a limit was met: there may be allocators that are not listed
  std::uint64_t pages_ns = 0;  // finding out which pages are in memory
  std::uint64_t took_ns = 0;   // all of it
};

}  // namespace fathom::allocators
