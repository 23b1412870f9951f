// What the printed numbers of a sampled heap say about the truth.
#pragma once

#include "formats/jemalloc/dump.h"
#include "model/heap.h"

namespace fathom::formats {

// A pair of a dump that was made with one sample in `mean_bytes` (0: of every call), with the variance of the sampling.
// Of n objects of s bytes each was sampled with the probability p = 1 - exp(-s / mean), so they stand for n / p, and the
// variance of that is n (1 - p) / p^2. Sizes of one stack that differ count with their mean. Source: AdjustSamples of
// bin/jeprof.in, algorithm 2.
model::HeapWeight estimate(const DumpPair& pair, double mean_bytes);

}  // namespace fathom::formats
