#include "session/memory/memory_series.h"

#include <algorithm>

namespace fathom::session {
namespace {

constexpr std::size_t kMostSeries = 20'000;

}  // namespace

void MemorySeries::add(std::uint64_t now_ns, std::int32_t pid, Sampled& sampled,
                       const sources::SeriesValue& value) {
  auto row = sampled.rows.find(value.name);
  if (row == sampled.rows.end()) {
    if (profile_.series.size() >= kMostSeries) return;
    row = sampled.rows.emplace(value.name, profile_.series.size()).first;
    model::Series series;
    series.name = profile_.strings.intern(value.name);
    series.unit = profile_.strings.intern(value.unit);
    series.pid = pid;
    profile_.series.push_back(series);
  }
  profile_.series[row->second].points.push_back({now_ns, value.value});
}

void MemorySeries::sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
                          const std::vector<std::int32_t>& with_series) {
  std::erase_if(sampled_, [&](const auto& entry) { return !std::ranges::binary_search(pids, entry.first); });
  std::vector<sources::SeriesValue> values;
  resident_bytes_ = 0;
  for (const std::int32_t pid : pids) {
    auto sampled = sampled_.find(pid);
    if (sampled == sampled_.end()) {
      auto opened = sources::MemorySampler::open(pid);
      if (!opened) continue;  // gone already
      sampled = sampled_.emplace(pid, Sampled{std::move(*opened), {}}).first;
    }
    values.clear();
    if (!sampled->second.sampler.read(values)) {
      sampled_.erase(sampled);  // it has ended; another process may have its number next time
      continue;
    }
    const bool is_told = std::ranges::binary_search(with_series, pid);
    for (const sources::SeriesValue& value : values) {
      if (is_told) add(now_ns, pid, sampled->second, value);
      if (value.name.starts_with("memory.rss_")) resident_bytes_ += value.value;
    }
  }
}

}  // namespace fathom::session
