#include "record/heap/probe_collector.h"

#include <algorithm>
#include <map>

#include "record/heap/slice_of_sites.h"

namespace fathom::sources::heap {
namespace {

constexpr std::uint32_t kMaxSites = 1u << 16;
constexpr std::uint32_t kSlicesPerLength = 512;

}  // namespace

ProbeCollector::ProbeCollector(std::uint64_t start_ns, const Options& options)
    : options_(options), sites_(kMaxSites, true), start_ns_(start_ns), slice_ns_(options.slice_ns) {
  sites_.next_slice(start_ns);
}

// The number of boundaries in a block is one of Poisson with the mean size / interval, and the weight is that number times the
// interval: its variance is size * interval, of which weight * interval is an estimate without bias.
Weight ProbeCollector::weight_of(const Live& block) {
  const double bytes = static_cast<double>(block.weight);
  const double size = static_cast<double>(std::max<std::uint64_t>(block.size, 1));
  const double variance = bytes * static_cast<double>(std::min(block.weight, block.interval));
  return {{bytes / size, bytes}, {variance / (size * size), variance}};
}

void ProbeCollector::take(const HeapProbed& event) {
  ++counters_.events;
  if (!event.frees) return allocate(event);
  ++counters_.frees;
  const auto found = live_.find(event.block);
  if (found == live_.end()) {
    ++counters_.unknown_frees;  // it was sampled before us, or its allocation was lost
    return;
  }
  free(found->second, event.time_ns);
  live_.erase(found);
}

void ProbeCollector::allocate(const HeapProbed& event) {
  ++counters_.allocations;
  if (event.stack_id == 0) ++counters_.unwalked;
  if (event.weight != 0 && event.weight < interval_) {
    interval_ = event.weight;
    counters_.mean = static_cast<std::uint32_t>(std::min<std::uint64_t>(interval_, UINT32_MAX));
  }
  const std::uint32_t site =
      sites_.site({static_cast<std::uint32_t>(event.stack_id), static_cast<std::uint32_t>(event.tid), 0});
  const Live block{event.time_ns, event.size, event.weight, interval_, site};
  // The address is handed out again: it was freed without a report. A realloc in place looks the same.
  if (const auto before = live_.find(event.block); before != live_.end()) {
    ++counters_.unseen_frees;
    free(before->second, event.time_ns);
    live_.erase(before);
  }
  sites_.allocate(site, weight_of(block), block.size, event.time_ns);
  if (live_.size() < options_.max_live_blocks) {
    live_.emplace(event.block, block);
  } else {  // what is live is too small by it
    ++counters_.not_followed;
    free(block, event.time_ns);
  }
}

void ProbeCollector::free(const Live& block, std::uint64_t now_ns) {
  const std::uint64_t lived_ns = now_ns > block.time_ns ? now_ns - block.time_ns : 0;
  sites_.free(block.site, weight_of(block), {lived_ns, lived_ns, false, block.time_ns >= start_ns_});
}

Sum ProbeCollector::end_image(std::uint64_t now_ns) {
  const Sum live = sites_.live();
  for (const auto& [address, block] : live_) free(block, now_ns);
  live_.clear();
  return live;
}

std::optional<Slice> ProbeCollector::slice(std::uint64_t now_ns, bool last) {
  if (!last && now_ns < start_ns_ + slice_ns_) return std::nullopt;
  Slice slice =
      slice_of_sites(sites_, start_ns_, std::max(now_ns, start_ns_), sites_.slice_peak().ticks, sites_told_);
  sites_.next_slice(slice.end_ns);
  start_ns_ = slice.end_ns;
  if (++slices_ % kSlicesPerLength == 0) slice_ns_ *= 2;
  counters_.merged = sites_.merged();
  return slice;
}

Summary ProbeCollector::summary(std::uint64_t now_ns) const {
  Summary summary;
  summary.peak_ns = sites_.peak().ticks;
  summary.peak = sites_.peak().sum;
  std::map<std::pair<std::uint32_t, unsigned>, Sum> ages;  // by site and bucket
  for (const auto& [address, block] : live_)
    ages[{block.site, bucket_of(now_ns > block.time_ns ? now_ns - block.time_ns : 0)}].add(
        weight_of(block).sum);
  auto age = ages.begin();
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    SiteSummary row;
    row.site = site;
    row.peak = sites_.at_peak(site);
    row.peak_variance = sites_.variance_at_peak(site);
    row.longest_ns = sites_.longest_ticks(site);
    const auto into = [](std::vector<Bucket>& rows) {
      return [&rows](unsigned bucket, const Sum& sum) {
        rows.push_back({static_cast<std::uint8_t>(bucket), sum});
      };
    };
    sites_.for_each_bucket(site, Histogram::kSize, into(row.sizes));
    sites_.for_each_bucket(site, Histogram::kLifetime, into(row.lifetimes_ns));
    for (; age != ages.end() && age->first.first == site; ++age)
      row.ages_ns.push_back({static_cast<std::uint8_t>(age->first.second), age->second});
    if (!row.sizes.empty() || !row.lifetimes_ns.empty()) summary.sites.push_back(std::move(row));
  }
  return summary;
}

}  // namespace fathom::sources::heap
