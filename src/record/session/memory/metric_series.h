// The target's own metrics over time, as series of the profile: one for each number that was scraped, with the process's.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "linux/metrics/scraper.h"
#include "model/profile.h"

namespace fathom::session {

class MetricSeries {
 public:
  // If there are more, those whose names are about memory come first.
  static constexpr std::size_t kMostSeries = 500;

  explicit MetricSeries(model::Profile& profile) : profile_(profile) {}
  // Each scrape counts once, however often it is added. `pid`: of the process that they are of.
  void add(const metrics::Scrape& scrape, std::int32_t pid);
  // Numbers of the first scrape for which there was no room.
  std::size_t left_out() const { return left_out_; }
  std::size_t series() const { return rows_.size(); }

 private:
  void choose(const metrics::Scrape& scrape, std::int32_t pid);

  model::Profile& profile_;
  std::unordered_map<std::string, std::size_t> rows_;
  std::uint64_t scraped_ns_ = 0;
  bool chosen_ = false;
  std::size_t left_out_ = 0;
};

}  // namespace fathom::session
