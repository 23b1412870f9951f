// How many blocks of a heap had a size or a life of each class, and what one that was seen stands for: in a sampled heap
// a block of 16 bytes stands for thousands, and one of a megabyte for itself.
#pragma once

#include <cstdint>
#include <map>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct BlockClass {
  std::int64_t blocks = 0;
  double weight = 0;  // variance of `blocks` for each of them; 0: every call was seen
};

// By model::HeapHistogram::bucket, of all of the recording: of the selection, only what it takes of sites counts.
std::map<std::uint8_t, BlockClass> histogram_of(const model::Profile& profile, const Selection& selection,
                                                model::HeapHistogramKind kind);

}  // namespace fathom::analysis
