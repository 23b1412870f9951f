#include "record/heap/mapping_collector.h"

#include <sys/syscall.h>

#include <algorithm>

#include "record/heap/slice_of_sites.h"

namespace fathom::sources::heap {
namespace {

constexpr std::uint32_t kMaxMappingSites = 1u << 14;
constexpr std::uint32_t kMappingSlicesPerLength = 512;

}  // namespace

MappingCollector::MappingCollector(std::uint64_t start_ns, std::uint64_t slice_ns)
    : sites_(kMaxMappingSites, true), start_ns_(start_ns), slice_ns_(slice_ns) {
  sites_.next_slice(start_ns);
}

std::uint32_t MappingCollector::site_of(const MappingBook::Change& change) {
  return sites_.site(
      {static_cast<std::uint32_t>(change.stack_id), static_cast<std::uint32_t>(change.tid), 0});
}

// The range stays mapped, so nothing is freed. How much of it was resident the kernel does not say.
void MappingCollector::give_back(const MemoryCall& call, std::uint32_t caller) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint32_t site =
      sites_.site({static_cast<std::uint32_t>(call.stack_id), static_cast<std::uint32_t>(call.tid), caller});
  if (site >= given_back_.size()) given_back_.resize(std::size_t{site} + 1);
  // The kernel rounds up to whole pages.
  given_back_[site].add({1, static_cast<double>(call.length / kPage + (call.length % kPage != 0)) * kPage});
}

void MappingCollector::take(const MemoryCall& call, std::uint32_t caller) {
  last_call_ns_ = call.time_ns;
  if (call.number == SYS_madvise) {
    give_back(call, caller);
    return;
  }
  changes_.clear();
  book_.on(call, changes_);
  for (const MappingBook::Change& change : changes_) {
    const Weight weight{{change.whole ? 1.0 : 0.0, static_cast<double>(change.bytes)}, {}};
    if (change.taken) {
      sites_.allocate(site_of(change), weight, change.bytes, change.time_ns);
    } else {
      const bool in_slice = change.time_ns - change.lived_ns >= start_ns_;
      sites_.free(site_of(change), weight, {change.lived_ns, change.lived_ns, false, in_slice});
    }
  }
}

std::optional<Slice> MappingCollector::slice(std::uint64_t now_ns, bool last) {
  if (!last && now_ns < start_ns_ + slice_ns_) return std::nullopt;
  Slice slice =
      slice_of_sites(sites_, start_ns_, std::max(now_ns, start_ns_), sites_.slice_peak().ticks, sites_told_);
  sites_.next_slice(slice.end_ns);
  start_ns_ = slice.end_ns;
  if (++slices_ % kMappingSlicesPerLength == 0) slice_ns_ *= 2;
  return slice;
}

std::optional<Slice> MappingCollector::settled_slice(std::uint64_t now_ns) {
  const std::uint64_t end = std::max(last_call_ns_ + 1, start_ns_ + slice_ns_);
  if (last_call_ns_ < start_ns_ || end >= now_ns) return std::nullopt;
  return slice(end);
}

Summary MappingCollector::summary() const {
  Summary summary;
  summary.peak_ns = sites_.peak().ticks;
  summary.peak = sites_.peak().sum;
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    SiteSummary row;
    row.site = site;
    row.peak = sites_.at_peak(site);
    row.longest_ns = sites_.longest_ticks(site);
    sites_.for_each_bucket(site, Histogram::kSize, [&](unsigned bucket, const Sum& sum) {
      row.sizes.push_back({static_cast<std::uint8_t>(bucket), sum});
    });
    sites_.for_each_bucket(site, Histogram::kLifetime, [&](unsigned bucket, const Sum& sum) {
      row.lifetimes_ns.push_back({static_cast<std::uint8_t>(bucket), sum});
    });
    if (site < given_back_.size()) row.given_back = given_back_[site];
    if (!row.sizes.empty() || !row.lifetimes_ns.empty() || row.given_back.blocks != 0)
      summary.sites.push_back(std::move(row));
  }
  return summary;
}

}  // namespace fathom::sources::heap
