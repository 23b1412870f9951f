// The free chunks of glibc's malloc: in the bins and fast bins of an arena, and in the caches of threads.
// Pure over PresentMemory.
//
// The process runs and changes the lists while fathom follows them. So fathom checks each step (the chunk is
// in a heap, its size belongs there, its neighbour points back), follows no list further than its arena's
// memory could hold, and follows a list that breaks off again from its head, at most three times; then it
// counts the missing part.
#pragma once

#include <functional>
#include <vector>

#include "attach/allocators/state/glibc_layout.h"

namespace fathom::allocators::glibc {

struct FreeChunk {
  std::uint64_t address = 0, size = 0;
};

struct Lists {
  std::vector<FreeChunk> bins;  // unordered
  std::uint64_t bin_bytes = 0, fast_bytes = 0;
  std::uint64_t chunks = 0;  // total number
  std::uint64_t broken = 0;  // lists that could not be followed to their end
  bool cut = false;          // there were too many chunks
};
Lists read_lists(PresentMemory& memory, const Arena& arena);

// Chunks in the caches of threads: `caches` were found, with `bytes` in them.
struct ThreadCaches {
  std::uint64_t caches = 0, chunks = 0, bytes = 0;
};
ThreadCaches read_thread_caches(PresentMemory& memory, const ProcessMap& map,
                                const std::vector<Arena>& arenas);

}  // namespace fathom::allocators::glibc
