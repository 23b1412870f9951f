#include "tools/watch/metric_history.h"

#include <vector>

namespace fathom::watch {
namespace {

double seconds_of(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

}  // namespace

void MetricHistory::add_memory(std::uint64_t time_ns, double anonymous_bytes) {
  memory_.push_back({seconds_of(time_ns), anonymous_bytes});
  // Looks come more often than scrapes: what is older than all scrapes that are kept is of no use, but memory is bounded
  // anyway.
  if (memory_.size() > 10 * kMostValues) memory_.pop_front();
}

void MetricHistory::add(const metrics::Scrape& scrape) {
  if (scrape.time_ns <= scraped_ns_) return;
  scraped_ns_ = scrape.time_ns;
  for (const metrics::ScrapedValue& value : scrape.values) {
    auto row = series_.find(value.name);
    if (row == series_.end()) {
      if (series_.size() >= kMostSeries || rules_.find(value.name) == nullptr) continue;
      row = series_.emplace(value.name, Series{value.is_counter, {}}).first;
    }
    row->second.points.push_back({seconds_of(scrape.time_ns), value.value});
    if (row->second.points.size() > kMostValues) row->second.points.pop_front();
  }
  // Metrics that are no longer reported are gone, and so is the memory they described.
  if (scrape.problem.empty())
    std::erase_if(series_, [&](const auto& row) {
      return row.second.points.back().time_s < seconds_of(scrape.time_ns);
    });
}

void MetricHistory::begin_anew() {
  series_.clear();
  memory_.clear();
}

analysis::Components MetricHistory::explain() const {
  std::vector<analysis::MetricSeries> series;
  for (const auto& [name, row] : series_)
    series.push_back({name, row.is_counter, {row.points.begin(), row.points.end()}});
  const std::vector<analysis::TimedValue> memory(memory_.begin(), memory_.end());
  return analysis::explain_growth(series, memory, rules_);
}

}  // namespace fathom::watch
