// massif.out, for ms_print and for viewers that read it: at most about a hundred moments of one heap, one in
// ten and the peak with a tree of who asked for the memory. Source: the files that valgrind 3.19's massif
// writes, and what its ms_print reads.
//
// The definitions are massif's: bytes as they were asked for of blocks of the allocators, without what the
// program maps by itself. What it cannot know here it says as 0: the allocator's own bytes (mem_heap_extra_B)
// and stacks (mem_stacks_B). Where it knows better: the peak is the one of all events (massif's is within 1 %
// and only looked for when memory is freed); calls that were inlined have lines of their own; of a sampled
// heap the numbers are estimates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

// What the axis of time counts: milliseconds, or bytes that were allocated and freed, as valgrind's --time-unit=B does. (Its unit i,
// instructions, is not recorded.)
enum class MassifUnit : std::uint8_t { kMilliseconds, kBytes };

struct MassifOptions {
  MassifUnit unit = MassifUnit::kMilliseconds;
  std::size_t snapshots = 100;      // at most; 4 or more
  std::size_t detailed_every = 10;  // one in so many has a tree
  std::size_t depth = 30;           // frames of a tree
  double threshold = 0.01;          // of the snapshot's bytes; less is taken together
};

enum class MassifTreeKind : std::uint8_t { kEmpty, kDetailed, kPeak };

struct MassifSnapshot {
  std::int64_t time = 0;  // from the start of the recording, in the unit of the file
  double bytes = 0;       // a whole number
  MassifTreeKind kind = MassifTreeKind::kEmpty;
  std::string tree;  // its lines, as they stand in the file; empty for kEmpty
};

struct MassifFile {
  MassifUnit unit = MassifUnit::kMilliseconds;
  std::string description, command;       // one line each
  std::vector<MassifSnapshot> snapshots;  // at least one, in order of time; one peak at most
};

// `profile` has passed check(). kNotFound: no heap in this selection. kUsage: the heaps of several processes.
Result<MassifFile> make_massif(const model::Profile& profile, const analysis::Selection& selection,
                               const MassifOptions& options = {});

// The file that ms_print reads, and what it prints of it (for where valgrind is not installed).
std::string massif_text(const MassifFile& file);
std::string ms_print_text(const MassifFile& file);

}  // namespace fathom::present
