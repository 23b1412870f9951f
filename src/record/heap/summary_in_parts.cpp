#include "record/heap/summary_in_parts.h"

#include <algorithm>

namespace fathom::sources::heap {

SummaryInParts::SummaryInParts(const Collector& collector)
    : collector_(collector), sites_(collector.sites_.size()), place_(sites_) {
  summary_.peak_ns = collector.ns_of(collector.sites_.peak().ticks);
  summary_.peak = collector.sites_.peak().sum;
}

bool SummaryInParts::next() {
  if (shard_ < LiveSet::kShards) {
    add_ages(shard_++);
  } else {
    for (const std::uint32_t end = std::min(sites_, site_ + kSitesAPart); site_ < end; ++site_)
      add_site(site_);
  }
  return site_ < sites_;
}

void SummaryInParts::add_ages(std::size_t shard) {
  collector_.live_.for_each_of(shard, [&](std::uint64_t key, const LiveBlock& block) {
    if (block.site >= sites_) return;  // new since the first part
    std::uint32_t& at = place_[block.site];
    if (at == 0) {
      live_.emplace_back();
      at = static_cast<std::uint32_t>(live_.size());
    }
    const std::uint64_t ticks = collector_.cut_ > block.ticks ? collector_.cut_ - block.ticks : 0;
    const Sum weight = collector_.weight_of(block).sum;
    age(live_[at - 1], bucket_of(collector_.lifetime_ns(ticks))).add(weight);
    live_[at - 1].usable += weight.blocks * static_cast<double>(collector_.checks_.usable(key, block.size));
  });
}

Sum& SummaryInParts::age(LiveSite& site, unsigned bucket) {
  for (std::uint32_t at = site.first; at != 0; at = ages_[at - 1].next)
    if (ages_[at - 1].bucket == bucket) return ages_[at - 1].sum;
  ages_.push_back({.sum = {}, .next = site.first, .bucket = static_cast<std::uint8_t>(bucket)});
  site.first = static_cast<std::uint32_t>(ages_.size());
  return ages_.back().sum;
}

void SummaryInParts::add_site(std::uint32_t site) {
  const Sites& sites = collector_.sites_;
  SiteSummary row;
  row.site = site;
  row.peak = sites.at_peak(site);
  row.peak_variance = sites.variance_at_peak(site);
  row.longest_ns = collector_.lifetime_ns(sites.longest_ticks(site));
  const auto put = [](std::vector<Bucket>& to) {
    return [&to](unsigned bucket, const Sum& sum) { to.push_back({static_cast<std::uint8_t>(bucket), sum}); };
  };
  sites.for_each_bucket(site, Histogram::kSize, put(row.sizes));
  sites.for_each_bucket(site, Histogram::kLifetime, put(row.lifetimes_ns));
  if (const std::uint32_t at = place_[site]; at != 0) {
    for (std::uint32_t age = live_[at - 1].first; age != 0; age = ages_[age - 1].next)
      if (ages_[age - 1].sum.blocks != 0) row.ages_ns.push_back({ages_[age - 1].bucket, ages_[age - 1].sum});
    std::ranges::sort(row.ages_ns, {}, &Bucket::bucket);
    row.live_usable = live_[at - 1].usable;
  }
  row.misuse = collector_.checks_.misuse(site);
  if (!row.sizes.empty() || !row.lifetimes_ns.empty()) summary_.sites.push_back(std::move(row));
}

}  // namespace fathom::sources::heap
