// Which slices of a heap a selection takes: those whose middle lies in it. An opening slice lies before every selection.
#pragma once

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

enum class SlicePlace : std::uint8_t { kBefore, kInside, kAfter };

inline SlicePlace place_of(const Filter& filter, const model::Profile& profile,
                           const model::HeapSlice& slice) {
  const std::uint64_t middle = slice.start_ns + (slice.end_ns - slice.start_ns) / 2;
  if (is_opening(slice, profile.meta.start_ns) || filter.is_before(middle)) return SlicePlace::kBefore;
  return filter.takes_time(middle) ? SlicePlace::kInside : SlicePlace::kAfter;
}

inline bool takes_slice(const Filter& filter, const model::Profile& profile, const model::HeapSlice& slice) {
  return place_of(filter, profile, slice) == SlicePlace::kInside;
}

}  // namespace fathom::analysis
