// Arithmetic of the heap's slices: several as one, what is live after them, a stretch of them. What a window has of a heap, and what
// several windows have of it, is made with these. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "model/profile.h"

namespace fathom::serve {

using HeapRows = std::map<model::HeapSiteId, model::HeapRow>;

// A slice belongs to the stretch in which its middle lies, as in analysis/core/heap.h.
inline std::uint64_t middle_of(const model::HeapSlice& slice) {
  return slice.start_ns + (slice.end_ns - slice.start_ns) / 2;
}

// Adds to the row of its site, which is returned. How many blocks came in one row and went in the other is unknown, so the variance of
// churn is a lower bound.
model::HeapRow& add_row(HeapRows& into, const model::HeapRow& row);
// The slices before a recording that begins at `start_ns` as its opening slice (model::is_opening).
model::HeapSlice as_opening(model::HeapSlice slice, std::uint64_t start_ns);
// What is left of sums since the start of the heap: a row that only allocates. False: nothing is live.
bool leave_live(model::HeapRow& sums);

// Slices of one heap that are together no longer than `slice_ns` become one. The opening slice stays.
void fold_slices(model::Profile& profile, std::uint64_t slice_ns);
// Leaves [from_ns, until_ns) of the heap, with an opening slice. What is known of the whole recording only is dropped.
void cut_heap(model::Profile& profile, std::uint64_t from_ns, std::uint64_t until_ns);
// Sets the end and the peak of each heap to those of its slices.
void measure_heaps(model::HeapTables& heap);

}  // namespace fathom::serve
