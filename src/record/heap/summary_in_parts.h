// The summary of a collector, made in parts of a few milliseconds: rings are read in between, which are full
// after some 20 ms of a program that allocates as fast as it can. A collector that goes on meanwhile gives
// each site and each shard of the live set as it is when its part is made. One thread at a time.
#pragma once

#include <array>
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
  // Of what is live, by `place_` of its site, which counts from 1: ages, and bytes that were set aside.
  std::vector<std::array<Sum, 65>> ages_;
  std::vector<double> usable_;
  std::vector<std::uint32_t> place_;
};

}  // namespace fathom::sources::heap
