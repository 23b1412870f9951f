// heaptrack's file, as heaptrack_print and its window read it (the interpreted form, file version 3). That
// format holds every call and no sums, so the calls are made up from the sums of each slice of time: so many
// blocks of a mean size that blocks and bytes of every stack are what was recorded, to the byte. Sizes of
// single blocks are lost. The peak stands where it was and is made of what it was made of. A block is freed
// directly after it was allocated where that was recorded so (temporary); otherwise a slice frees first and
// allocates then, so that no peak appears that was not there.
// Source: the records are described in heaptrack's accumulatedtracedata.cpp and heaptrack_interpret.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct HeaptrackOptions {
  analysis::Selection selection = {};  // pid, thread and container frames; not a window
  // Calls, allocations and frees together, that are written at most: readers need a second for each 4
  // million. Above that n blocks stand as one of n times the size; bytes stay right, and calls do not.
  double most_calls = 20e6;
};

struct HeaptrackWritten {
  std::uint64_t calls = 0;
  std::uint64_t blocks_per_call = 1;  // more than 1: scaled
  std::vector<std::string> notes;     // sentences: what the file does not say
};

// `take` is given the text in pieces. kNotFound where the heap was not traced, kUsage for a window.
Result<HeaptrackWritten> write_heaptrack(const model::Profile& profile, const HeaptrackOptions& options,
                                         const std::function<void(std::string_view)>& take);

}  // namespace fathom::present
