// The metrics of a watched program over time, as far as a rule knows them, and what they explain of its memory. Pure.
// Bounded: 600 values of each of 300 series.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "analysis/metrics/components.h"
#include "linux/metrics/scraper.h"

namespace fathom::watch {

class MetricHistory {
 public:
  explicit MetricHistory(const analysis::ComponentRules& rules = analysis::ComponentRules::built_in())
      : rules_(rules) {}
  // The anonymous memory of the process, at each look.
  void add_memory(std::uint64_t time_ns, double anonymous_bytes);
  // Each scrape counts once, however often it is added.
  void add(const metrics::Scrape& scrape);
  // Another process has its place: nothing of the one before counts.
  void begin_anew();

  analysis::Components explain() const;

 private:
  static constexpr std::size_t kMostSeries = 300, kMostValues = 600;
  struct Series {
    bool is_counter = false;
    std::deque<analysis::TimedValue> points;
  };
  const analysis::ComponentRules& rules_;
  std::map<std::string, Series> series_;
  std::deque<analysis::TimedValue> memory_;
  std::uint64_t scraped_ns_ = 0;
};

}  // namespace fathom::watch
