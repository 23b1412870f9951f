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
      ages_.emplace_back();
      usable_.push_back(0);
      at = static_cast<std::uint32_t>(ages_.size());
    }
    const std::uint64_t ticks = collector_.cut_ > block.ticks ? collector_.cut_ - block.ticks : 0;
    const Sum weight = collector_.weight_of(block).sum;
    ages_[at - 1][bucket_of(collector_.lifetime_ns(ticks))].add(weight);
    usable_[at - 1] += weight.blocks * static_cast<double>(collector_.checks_.usable(key, block.size));
  });
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
    for (unsigned bucket = 0; bucket <= 64; ++bucket)
      if (const Sum& sum = ages_[at - 1][bucket]; sum.blocks != 0)
        row.ages_ns.push_back({static_cast<std::uint8_t>(bucket), sum});
    row.live_usable = usable_[at - 1];
  }
  row.misuse = collector_.checks_.misuse(site);
  if (!row.sizes.empty() || !row.lifetimes_ns.empty()) summary_.sites.push_back(std::move(row));
}

}  // namespace fathom::sources::heap
