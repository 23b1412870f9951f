// Reads the blocks of type HBLK of a recording one after the other: decoded and filtered by several threads,
// handed to the caller in their order, so that sums of doubles are the same each time. A few of them are in
// memory at once.
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

// How many threads read so many places.
std::size_t lives_threads(std::size_t places);

struct LivesPlace {
  std::uint64_t offset = 0;  // of the header
  BlockHeader header;
};
struct Lives {
  std::vector<model::HeapBlock> blocks;
  double read = 0;   // what `filter` returned
  Result<> outcome;  // kMalformed: this block is damaged, and `blocks` is empty
};

// `filter` runs in several threads, `take` in the caller's; an error that it returns ends the reading.
// `input` and `heap` outlive the call.
Result<> read_lives(const Input& input, std::span<const LivesPlace> places, const model::HeapTables& heap,
                    const std::function<double(std::vector<model::HeapBlock>&)>& filter,
                    const std::function<Result<>(std::size_t place, Lives& lives)>& take);

}  // namespace fathom::store
