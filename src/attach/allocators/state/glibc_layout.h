// The memory layout of glibc's malloc: finds its arenas, heaps and parameters by their shape. Pure over
// PresentMemory. Source: glibc malloc/malloc.c, malloc/arena.c of 2.27 to 2.41, 64-bit.
//
// The main arena is in the writable data of libc (or of a static program), without a symbol in a stripped
// one. These checks confirm it: an empty bin points to itself, its top ends at a page boundary, and the ring
// of arenas is closed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"

namespace fathom::allocators::glibc {

inline constexpr std::uint64_t kHeapBytes = std::uint64_t{64}
                                            << 20;  // thread arenas have heaps with this alignment
inline constexpr unsigned kBins = 127, kFastBins = 10, kTcacheBins = 64;

// malloc_state.
struct ArenaRecord {
  std::int32_t mutex, flags, have_fast_chunks, padding;
  std::uint64_t fast_bins[kFastBins];
  std::uint64_t top, last_remainder;
  std::uint64_t bins[kBins * 2];  // forward, backward
  std::uint32_t bin_map[4];
  std::uint64_t next, next_free, attached_threads, system_bytes, most_system_bytes;
};
static_assert(sizeof(ArenaRecord) == 0x898);
// The chunk address of a bin, as seen by its neighbours: its two links are where a chunk has them.
constexpr std::uint64_t bin_chunk(std::uint64_t arena, unsigned bin) {
  return arena + 0x70 + std::uint64_t{16} * bin - 16;
}

struct Arena {
  std::uint64_t address = 0;
  ArenaRecord record{};
  std::vector<AddressRange> heaps;  // where its chunks are, ascending; for the main arena: the program break
  std::uint64_t first_chunk = 0;    // in its first heap; 0: unknown
  std::uint64_t top_bytes = 0;
  bool whole = true;  // `heaps` is complete
};

// The needed part of malloc_par.
struct Parameters {
  std::uint64_t trim_threshold = 0, mapped_bytes = 0;
  std::uint64_t mapped_blocks = 0;
  bool since_2_35 = false;
};

struct Found {
  std::string module;
  std::vector<Arena> arenas;  // the main one first
  std::optional<Parameters> parameters;
};
// nullopt: there is none, or `why` says which part is inconsistent.
std::optional<Found> find(PresentMemory& memory, const ProcessMap& map, std::string& why);

// A chunk's header, and the links of a free chunk.
struct Chunk {
  std::uint64_t previous_size, size_and_flags, forward, backward;
  std::uint64_t size() const { return size_and_flags & ~std::uint64_t{7}; }
};

}  // namespace fathom::allocators::glibc
