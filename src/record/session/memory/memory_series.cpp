#include "record/session/memory/memory_series.h"

#include <algorithm>

#include "linux/process/status.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMostSeries = 20'000;

bool read_briefly(std::int32_t pid, std::vector<sources::SeriesValue>& values) {
  const auto use = process::read_memory(pid);
  if (!use) return false;
  // On its way out: no measurement, rather than a fall to zero.
  if (use->rss_anon + use->rss_file + use->rss_shmem == 0) return true;
  for (const auto& [name, bytes] :
       {std::pair("memory.rss_anon", use->rss_anon), std::pair("memory.rss_file", use->rss_file),
        std::pair("memory.rss_shmem", use->rss_shmem), std::pair("memory.swap", use->swap),
        std::pair("memory.page_tables", use->page_tables)})
    values.push_back({name, "bytes", static_cast<double>(bytes)});
  return true;
}

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
  kept_ = static_cast<std::size_t>(
      std::ranges::count_if(sampled_, [](const auto& entry) { return entry.second.sampler.has_value(); }));
  std::vector<sources::SeriesValue> values;
  resident_bytes_ = 0;
  for (const std::int32_t pid : pids) {
    auto sampled = sampled_.find(pid);
    if (sampled == sampled_.end()) {
      Sampled made;
      if (kept_ < kMostKept) {
        auto opened = sources::MemorySampler::open(pid);
        if (!opened) continue;  // gone already
        made.sampler = std::move(*opened);
        ++kept_;
      }
      sampled = sampled_.emplace(pid, std::move(made)).first;
    }
    values.clear();
    auto& sampler = sampled->second.sampler;
    if (sampler ? !sampler->read(values) : !read_briefly(pid, values)) {
      kept_ -= sampler ? 1 : 0;
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
