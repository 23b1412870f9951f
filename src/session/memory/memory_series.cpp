#include "session/memory/memory_series.h"

#include <algorithm>

namespace fathom::session {

void MemorySeries::add(std::uint64_t now_ns, std::int32_t pid, const sources::SeriesValue& value) {
  const auto [row, is_new] = rows_.try_emplace({pid, value.name}, profile_.series.size());
  if (is_new) {
    model::Series series;
    series.name = profile_.strings.intern(value.name);
    series.unit = profile_.strings.intern(value.unit);
    series.pid = pid;
    profile_.series.push_back(series);
  }
  profile_.series[row->second].points.push_back({now_ns, value.value});
}

void MemorySeries::sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids) {
  std::erase_if(samplers_,
                [&](const auto& entry) { return std::ranges::find(pids, entry.first) == pids.end(); });
  std::vector<sources::SeriesValue> values;
  resident_bytes_ = 0;
  for (const std::int32_t pid : pids) {
    auto sampler = samplers_.find(pid);
    if (sampler == samplers_.end()) {
      auto opened = sources::MemorySampler::open(pid);
      if (!opened) continue;  // gone already
      sampler = samplers_.emplace(pid, std::move(*opened)).first;
    }
    values.clear();
    if (!sampler->second.read(values)) continue;
    for (const sources::SeriesValue& value : values) {
      add(now_ns, pid, value);
      if (value.name.starts_with("memory.rss_")) resident_bytes_ += value.value;
    }
  }
}

}  // namespace fathom::session
