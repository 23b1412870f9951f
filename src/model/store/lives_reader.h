// Reads the blocks of type HBLK of a recording: several threads decode and filter them, and the caller gets
// them in order, so that sums of doubles are reproducible. Only a few of them are in memory at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "model/store/block.h"
#include "model/store/input.h"

namespace fathom::store {

// Number of threads for this number of places.
std::size_t lives_threads(std::size_t places);

struct LivesPlace {
  std::uint64_t offset = 0;  // of the header
  BlockHeader header;
};
struct Lives {
  std::vector<model::HeapBlock> blocks;
  double read = 0;   // the result of `filter`
  Result<> outcome;  // kMalformed: this block is damaged, and `blocks` is empty
};

// What the filter takes: most blocks of the file then need not be decoded, or not in full.
struct LivesWanted {
  bool only_live = false;  // those that are live at the end, and no others
  std::uint64_t least_size = 0, most_size = UINT64_MAX;
  bool hints = false;  // the recording is whole, so that the hints in the headers (block.h) hold
};

// `filter` runs in several threads, `take` in the caller's; an error from it ends the reading.
// `input` and `heap` outlive the call.
Result<> read_lives(const Input& input, std::span<const LivesPlace> places, const model::HeapTables& heap,
                    const LivesWanted& wanted,
                    const std::function<double(std::vector<model::HeapBlock>&)>& filter,
                    const std::function<Result<>(std::size_t place, Lives& lives)>& take);

}  // namespace fathom::store
