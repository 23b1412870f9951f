// The summary of a collector, made in parts of a few milliseconds: rings are read in between, which are full
// after some 20 ms of a program that allocates as fast as it can. A collector that goes on meanwhile gives
// each site and each shard of the live set as it is when its part is made. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "record/heap/collector.h"

namespace fathom::sources::heap {

class SummaryInParts {
 public:
  // `collector` outlives it.
  explicit SummaryInParts(const Collector& collector);
  // Makes the next part; false: that was the last one.
  bool next();
  Summary take() { return std::move(summary_); }

 private:
  static constexpr std::uint32_t kSitesAPart = 4096;
  void add_ages(std::size_t shard);
  void add_site(std::uint32_t site);

  const Collector& collector_;
  Summary summary_;
  std::size_t shard_ = 0;
  std::uint32_t site_ = 0;
  const std::uint32_t sites_;  // as many as there were at the start
  // Of what is live, by `place_` of its site, which counts from 1. The blocks of most sites are of a few ages: a list of those
  // takes 32 bytes for each, a table of all 65 took a kilobyte for each site and 98 MB of a target with 65,536 sites.
  struct Age {
    Sum sum;
    std::uint32_t next = 0;  // of the same site: counts from 1, 0 is the end
    std::uint8_t bucket = 0;
  };
  struct LiveSite {
    double usable = 0;  // bytes that were set aside
    std::uint32_t first = 0;
  };
  Sum& age(LiveSite& site, unsigned bucket);
  std::vector<Age> ages_;
  std::vector<LiveSite> live_;
  std::vector<std::uint32_t> place_;
};

}  // namespace fathom::sources::heap
