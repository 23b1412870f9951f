#include "record/heap/slice_of_sites.h"

#include <algorithm>

namespace fathom::sources::heap {

std::vector<SiteKey> take_new_sites(const Sites& sites, std::uint32_t& sites_told) {
  std::vector<SiteKey> keys;
  for (; sites_told < sites.size(); ++sites_told) keys.push_back(sites.key(sites_told));
  return keys;
}

Slice slice_of_sites(const Sites& sites, std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t peak_ns,
                     std::uint32_t& sites_told) {
  Slice slice;
  slice.start_ns = start_ns;
  slice.end_ns = end_ns;
  slice.peak_ns = std::clamp(peak_ns, start_ns, end_ns);
  slice.peak_bytes = sites.slice_peak().sum.bytes;
  slice.live = sites.live();
  slice.first_new_site = sites_told;
  slice.new_sites = take_new_sites(sites, sites_told);
  std::vector<std::uint32_t> changed = sites.changed();
  std::ranges::sort(changed);
  for (const std::uint32_t site : changed) {
    const SiteVariances& variances = sites.variances(site);
    slice.rows.push_back(
        {site, sites.slice(site), variances.allocated, variances.freed, variances.churn.bytes});
  }
  return slice;
}

}  // namespace fathom::sources::heap
