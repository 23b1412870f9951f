// The free chunks of glibc's malloc: in the bins and fast bins of an arena, and in the caches of threads. Pure over
// PresentMemory.
//
// The lists are changed by a process that runs while they are followed. So each step is checked (the chunk lies in a
// heap, its size belongs there, its neighbour points back), no list is followed further than its arena's memory could
// hold, and a list that breaks off is followed again from its head, three times at most; what is missing then is
// counted.
#pragma once

#include <functional>
#include <vector>

#include "attach/allocators/state/glibc_layout.h"

namespace fathom::allocators::glibc {

struct FreeChunk {
  std::uint64_t address = 0, size = 0;
};

struct Lists {
  std::vector<FreeChunk> bins;  // in no order
  std::uint64_t bin_bytes = 0, fast_bytes = 0;
  std::uint64_t chunks = 0;  // all of them
  std::uint64_t broken = 0;  // lists that were not followed to their end
  bool cut = false;          // there were too many chunks
};
Lists read_lists(PresentMemory& memory, const Arena& arena);

// Chunks in the caches of threads: `caches` of them were found, with `bytes` in them.
struct ThreadCaches {
  std::uint64_t caches = 0, chunks = 0, bytes = 0;
};
ThreadCaches read_thread_caches(PresentMemory& memory, const ProcessMap& map,
                                const std::vector<Arena>& arenas);

}  // namespace fathom::allocators::glibc
