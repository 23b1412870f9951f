// A slice of time from the sums of its sites, for all collectors alike.
#pragma once

#include <cstdint>
#include <vector>

#include "record/heap/collector.h"
#include "record/heap/sites.h"

namespace fathom::sources::heap {

// Keys of the sites from number `sites_told` on, which then counts them too.
std::vector<SiteKey> take_new_sites(const Sites& sites, std::uint32_t& sites_told);
// The slice that `sites` has gathered, in CLOCK_MONOTONIC; the caller then calls Sites::next_slice(). `peak_ns`: the time of its
// peak, which is brought between the two ends.
Slice slice_of_sites(const Sites& sites, std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t peak_ns,
                     std::uint32_t& sites_told);

}  // namespace fathom::sources::heap
