// The heap part of the model: what was allocated and freed where and when. Plain rows joined by ids.
//
//   heaps        one per traced process: how it was recorded, and its peak
//   allocators, hooks   who handed the memory out, and through which functions that was seen
//   outages      stretches of time in which nothing of a heap was recorded; replaced as a whole while
//   recording slices       pieces of time, one after the other; longer ones the longer the recording lasts
//   sites        a stack that allocates, of one allocator, by one thread where threads were told apart
//   rows         what happened in one slice to the blocks of one site; only ever appended
//   summaries, histograms, uses, returns   of one site over all of the time; replaced as a whole while
//   recording goes on
//   blocks       the life of every single block, where that was asked for; only ever appended
//
// A recording may begin long after its heap began to be traced, as a window of `fathom serve` does. Then the heap has an opening
// slice before the recording: what its rows allocated and did not free is what was live when the recording began.
//
// Blocks belong to the site that allocated them, whoever frees them. What is live at the end of a slice is
// what was allocated in all slices so far without what was freed in them. Sums are estimates where the heap
// was sampled: then each comes with its variance, which is 0 where every call was seen. They are doubles:
// whole numbers up to 2^53, so that exact recordings are exact to the byte. No sum is negative.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/packed_rows.h"

namespace fathom::model {

using HeapId = Id<struct HeapTag>;
using HeapAllocatorId = Id<struct HeapAllocatorTag>;
using HeapSliceId = Id<struct HeapSliceTag>;
using HeapSiteId = Id<struct HeapSiteTag>;

enum class HeapMode : std::uint8_t {
  kSampled,  // Poisson by bytes
  kExact,    // every call
};

// How a function was hooked (base/abi/heap_tracer.h).
enum class HookKind : std::uint8_t {
  kNone,  // it was not: HeapHook::note says why
  kSlot,
  kEntry,
  kProbe,  // a static probe of the program's own: nothing was put into it
};

// One traced process. Counters are of the whole recording.
struct Heap {
  ProcessId process;
  HeapMode mode = HeapMode::kSampled;
  bool from_start = false;          // traced before its first instruction: there are no earlier blocks
  std::uint64_t mean_bytes = 0;     // between samples, as it was at the end; 0 where exact
  std::uint64_t start_ns = 0;       // CLOCK_MONOTONIC: hooks were in
  std::uint64_t end_ns = 0;         // of the last slice
  std::uint64_t earlier_frees = 0;  // frees of blocks that were allocated before start_ns; 0 where sampled
  std::uint64_t earlier_rss_bytes = 0;  // anonymous memory that was resident at start_ns; 0 if unknown
  // The moment at which most bytes were live, exact to the event. HeapSummary::peak says of what.
  std::uint64_t peak_ns = 0;
  double peak_bytes = 0, peak_blocks = 0;
  // What became of events.
  std::uint64_t events = 0;          // allocations, frees and changes that were taken in
  std::uint64_t lost_ring_full = 0;  // events that found no room
  std::uint64_t lost_no_ring = 0;    // events of threads for which there was no ring, or no place
  std::uint64_t lost_throwing = 0;   // blocks of operator new that only its slow end could give
  std::uint64_t lost_set_full = 0;   // samples not recorded: the set of sampled blocks was full
  std::uint64_t lost_damaged = 0;    // rings that were given up as their content made no sense
  std::uint64_t nested = 0;          // calls inside of another recorded call, or in a signal handler
  std::uint64_t unwalked = 0;        // allocations without a stack
  std::uint64_t incomplete = 0;      // allocations whose stack does not reach the start of its thread
  std::uint64_t unseen_frees = 0;    // an address was handed out again though nobody had freed it
  // Frees of blocks that had been freed not long before and not been handed out since. Sure only where
  // nothing was lost and no call went unseen. Exact only.
  std::uint64_t invalid_frees = 0;
  std::uint64_t waited_ns = 0;     // time that threads of the target waited for room
  std::uint64_t merged_sites = 0;  // allocations counted without their stack, as there were too many sites
  bool switched_off = false;  // at the end the tracer recorded nothing, as the profiler was not heard from
  bool each_block = false;    // the life of every block was written, too (HeapBlock)
  // Of blocks that a filter chose while the file was read, and not of all: its peaks are then known to a part
  // of a slice. Never stored.
  bool chosen = false;
  std::uint64_t lost_blocks = 0;  // but for these: they are in all sums, and their lives are not known
  // The program executed another one, and its memory went with it: what was live then counts as freed.
  bool image_ended = false;
  std::uint64_t dropped_blocks = 0, dropped_bytes = 0;  // that much was
  auto operator<=>(const Heap&) const = default;
};

// The label of what stands for mmap and brk: memory that the program maps by itself, without an allocator. It
// has a heap of its own.
inline constexpr std::string_view kMappedByProgram = "mapped by the program (mmap, brk)";

// Row 0: not known.
struct HeapAllocator {
  StringId label;   // "jemalloc 5.3.0 (_rjem_)", "glibc"
  ModuleId module;  // that holds it
  auto operator<=>(const HeapAllocator&) const = default;
};

// One function of an allocator.
struct HeapHook {
  HeapAllocatorId allocator;
  StringId function;  // "_rjem_malloc"
  StringId note;      // why it was not hooked, or what is incomplete; empty: nothing
  HookKind kind = HookKind::kNone;
  auto operator<=>(const HeapHook&) const = default;
};

// In this time nothing of the heap was recorded, as the profiler did not answer: what was live before it may
// have been freed in it, and what was allocated in it is not known. Rows of one heap are in order of time.
struct HeapOutage {
  HeapId heap;
  std::uint64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  auto operator<=>(const HeapOutage&) const = default;
};

struct HeapSlice {
  HeapId heap;
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC; the end of the slice before of the same heap
  std::uint64_t end_ns = 0;
  std::uint64_t peak_ns = 0;  // when most bytes were live inside of it, and how many
  double peak_bytes = 0;
  double live_bytes = 0, live_blocks = 0;  // at its end
  auto operator<=>(const HeapSlice&) const = default;
};

// `start_ns`: of the recording (Meta::start_ns). Slices of an ordinary recording never end before it.
inline bool is_opening(const HeapSlice& slice, std::uint64_t start_ns) {
  return slice.start_ns < start_ns && slice.end_ns <= start_ns;
}

struct HeapSite {
  HeapId heap;
  StackId stack;  // 0: not walked
  HeapAllocatorId allocator;
  ThreadId thread = kNoThread;  // that allocated; kNoThread: threads were not told apart
  WalkEnd end = 0;
  auto operator<=>(const HeapSite&) const = default;
};

// Numbers of blocks and their sizes as they were asked for.
struct HeapSum {
  double blocks = 0;
  double bytes = 0;
  auto operator<=>(const HeapSum&) const = default;
};
struct HeapVariance {
  double blocks = 0;
  double bytes = 0;
  auto operator<=>(const HeapVariance&) const = default;
};

// One site in one slice; only sites to whose blocks something happened have a row. A realloc frees the old
// block and allocates the new one at its own site.
struct HeapRow {
  HeapSliceId slice;
  HeapSiteId site;
  HeapSum allocated;
  HeapSum freed;      // of blocks of this site
  HeapSum temporary;  // freed by the thread that allocated it, before it allocated anything else; exact only
  HeapSum short_lived;  // freed less than 1 ms after they were allocated
  HeapVariance allocated_variance, freed_variance;
  double churn_variance = 0;  // of the bytes of blocks both allocated and freed in this slice
  auto operator<=>(const HeapRow&) const = default;
};

// One site over all of the recording.
struct HeapSummary {
  HeapSiteId site;
  HeapSum peak;  // of its blocks at Heap::peak_ns: adds up to Heap::peak_bytes and peak_blocks
  HeapVariance peak_variance;
  std::uint64_t longest_ns = 0;  // longest life of a block that was freed
  auto operator<=>(const HeapSummary&) const = default;
};

enum class HeapHistogramKind : std::uint8_t {
  kSize,      // bytes, of allocated blocks
  kLifetime,  // ns, of freed blocks
  kAge,       // ns, of blocks that are live at the end
};
// The bytes of sizes and lifetimes are estimated from those of the site (exact where its blocks have one
// size); those of ages are not. So many blocks of the site had a size, lifetime or age of 2^(bucket - 1) up
// to less than 2^bucket; bucket 0 is 0. At most 64.
struct HeapHistogram {
  HeapSiteId site;
  HeapHistogramKind kind = HeapHistogramKind::kSize;
  std::uint8_t bucket = 0;
  HeapSum sum;
  auto operator<=>(const HeapHistogram&) const = default;
};

// How the memory of one site's blocks is used and given back; only sites that have something to tell.
struct HeapUse {
  HeapSiteId site;
  // Bytes that the allocator sets aside for the blocks that are live at the end, by its rule of size classes
  // and without regard to alignment: never less than was asked for. 0: no block is live, or the rule is not
  // known.
  double live_usable = 0;
  HeapSum wrong_size;  // freed with a size whose class is another than the block's: a bug of who frees
  HeapSum foreign;     // freed through another allocator than the one that gave them
  // Freed once more before they were handed out again, by a thread that went on to allocate. Exact only.
  HeapSum twice = {};
  auto operator<=>(const HeapUse&) const = default;
};

// Memory that the code of a site gave back to the kernel while its addresses stayed mapped (madvise): nothing
// is freed by it. Sites of the heap of kMappedByProgram; their allocator says who gave it back, an allocator
// or the program.
struct HeapReturn {
  HeapSiteId site;
  HeapSum given_back;  // calls, and the bytes of their ranges: what was resident of them is not known
  auto operator<=>(const HeapReturn&) const = default;
};

// The life of one block. Rows of all blocks of a site add up to the site's HeapRows; sampled ones stand for
// more than one (weight_of).
struct HeapBlock {
  static constexpr std::uint32_t kLive = UINT32_MAX;

  HeapSiteId site;
  std::uint64_t address = 0;
  std::uint64_t size = 0;          // as it was asked for
  std::uint64_t allocated_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t lifetime_ns = 0;   // until it was freed; 0 if it is live at the end
  // The slices of its heap, counted from 0, in which it was allocated and freed; kLive: it was not.
  std::uint32_t first_slice = 0, last_slice = kLive;
  ThreadId freed_by = kNoThread;  // kNoThread: it is live, or that was not seen
  std::uint32_t mean_bytes = 0;   // that it was sampled with; 0: exact
  bool temporary = false;         // as HeapRow::temporary
  bool live() const { return last_slice == kLive; }
  // As HeapRow::short_lived.
  bool short_lived() const { return !live() && lifetime_ns < 1'000'000; }
  auto operator<=>(const HeapBlock&) const = default;
};

struct HeapWeight {
  HeapSum sum;
  HeapVariance variance;
};
// A block of `size` that was sampled with this mean: it was with probability 1 - exp(-size / mean).
inline HeapWeight weight_of(std::uint64_t size, std::uint32_t mean_bytes) {
  const double real = static_cast<double>(size);
  if (mean_bytes == 0) return {{1, real}, {}};
  const double share = std::max(real, 1.0) / mean_bytes;
  const double seen = -std::expm1(-share);
  const double blocks = 1 / seen, variance = std::exp(-share) / (seen * seen);
  return {{blocks, blocks * real}, {variance, variance * real * real}};
}
inline HeapWeight weight_of(const HeapBlock& block) {
  return weight_of(block.size, block.mean_bytes);
}

// All of it. Empty in recordings without heap, but for row 0 of the allocators.
struct HeapTables {
  std::vector<Heap> heaps;
  std::vector<HeapAllocator> allocators = std::vector<HeapAllocator>(1);
  std::vector<HeapHook> hooks;
  std::vector<HeapOutage> outages;
  std::vector<HeapSlice> slices;  // in order of time within each heap
  std::vector<HeapSite> sites;
  std::vector<HeapRow> rows;        // a recorder clears them once they are written, like samples
  PackedRows<HeapRow> packed_rows;  // those before them, where a reader was asked to pack them
  std::vector<HeapSummary> summaries;
  std::vector<HeapHistogram> histograms;
  std::vector<HeapUse> uses;
  std::vector<HeapReturn> returns;
  // A recorder clears them once they are written; a reader has them only as far as it was asked for them.
  std::vector<HeapBlock> blocks;
  bool empty() const { return heaps.empty(); }
  Rows<HeapRow> all_rows() const { return {packed_rows, rows}; }
  bool operator==(const HeapTables&) const = default;
};

}  // namespace fathom::model
