#include "record/session/memory/metric_series.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "linux/metrics/recorded_names.h"

namespace fathom::session {
namespace {

bool speaks_of_memory(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kWords{
      "bytes", "memory", "mem_table", "memtable", "size", "jemalloc", "mallinfo",
      "cache", "usage",  "buffer",    "heap",     "pool", "arena"};
  name = name.substr(0, name.find('{'));
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != name.npos; });
}

}  // namespace

// Fixed by the first scrape with data: series that come and go would have no bound.
void MetricSeries::choose(const metrics::Scrape& scrape, std::int32_t pid) {
  chosen_ = true;
  for (const bool memory : {true, false})
    for (const metrics::ScrapedValue& value : scrape.values) {
      if (speaks_of_memory(value.name) != memory) continue;
      if (rows_.size() >= kMostSeries) {
        ++left_out_;
        continue;
      }
      if (!rows_.emplace(value.name, profile_.series.size()).second) continue;
      model::Series series;
      series.name = profile_.strings.intern(std::string(metrics::kRecordedPrefix) + value.name);
      series.unit = profile_.strings.intern(value.unit +
                                            (value.is_counter ? std::string(metrics::kCountedSuffix) : ""));
      series.pid = pid;
      profile_.series.push_back(series);
    }
}

void MetricSeries::add(const metrics::Scrape& scrape, std::int32_t pid) {
  if (scrape.time_ns <= scraped_ns_ || scrape.values.empty()) return;
  scraped_ns_ = scrape.time_ns;
  if (!chosen_) choose(scrape, pid);
  for (const metrics::ScrapedValue& value : scrape.values)
    if (const auto row = rows_.find(value.name); row != rows_.end())
      profile_.series[row->second].points.push_back({scrape.time_ns, value.value});
}

}  // namespace fathom::session
