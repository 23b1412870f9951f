// How many blocks of a heap fall into each class of size or lifetime, and how many blocks a sampled one
// stands for: in a sampled heap a block of 16 bytes stands for thousands, and a block of a megabyte for
// itself.
#pragma once

#include <cstdint>
#include <map>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct BlockClass {
  std::int64_t blocks = 0;
  double weight = 0;  // variance of `blocks` per block; 0: every call was recorded
};

// By model::HeapHistogram::bucket, over the whole recording: only the selection's choice of sites counts.
std::map<std::uint8_t, BlockClass> histogram_of(const model::Profile& profile, const Selection& selection,
                                                model::HeapHistogramKind kind);

}  // namespace fathom::analysis
