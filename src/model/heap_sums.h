// Rows and slices of the heap that become one.
#pragma once

#include "model/heap.h"

namespace fathom::model {

inline void add(HeapSum& sum, const HeapSum& more) {
  sum.blocks += more.blocks;
  sum.bytes += more.bytes;
}
inline void add(HeapVariance& sum, const HeapVariance& more) {
  sum.blocks += more.blocks;
  sum.bytes += more.bytes;
}

// All but the variance of churn: how many blocks came in one row and went in the other is for the caller to know.
inline void add_sums(HeapRow& sum, const HeapRow& more) {
  add(sum.allocated, more.allocated);
  add(sum.freed, more.freed);
  add(sum.temporary, more.temporary);
  add(sum.short_lived, more.short_lived);
  add(sum.allocated_variance, more.allocated_variance);
  add(sum.freed_variance, more.freed_variance);
}

// `next` follows `into`.
inline void join_slice(HeapSlice& into, const HeapSlice& next) {
  into.end_ns = next.end_ns;
  into.live_bytes = next.live_bytes;
  into.live_blocks = next.live_blocks;
  if (next.peak_bytes <= into.peak_bytes) return;
  into.peak_bytes = next.peak_bytes;
  into.peak_ns = next.peak_ns;
}

}  // namespace fathom::model
