#include "analysis/memory/file_cache.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stable_sort.h"
#include "model/file_series.h"

namespace fathom::analysis {
namespace {

struct Values {
  double first = 0, last = 0, most = 0;
};

// A file may hold any numbers.
std::optional<Values> values_of(const model::Series& series, std::uint64_t until_ns) {
  std::optional<Values> values;
  for (const model::Point& point : series.points) {
    if (point.time_ns > until_ns || !std::isfinite(point.value) || point.value < 0) continue;
    if (!values) values = Values{point.value, point.value, point.value};
    values->last = point.value;
    values->most = std::max(values->most, point.value);
  }
  return values;
}

}  // namespace

std::vector<FileCacheRow> recorded_file_caches(const model::Profile& profile, std::optional<std::int32_t> pid,
                                               std::uint64_t until_ns) {
  std::map<std::string_view, FileCacheRow> by_path;
  for (const model::Series& series : profile.series) {
    if (pid && series.pid != *pid) continue;
    const auto name = model::parse_file_series_name(profile.strings[series.name]);
    if (!name) continue;
    const auto values = values_of(series, until_ns);
    if (!values) continue;
    auto [row, is_new] = by_path.try_emplace(name->path);
    if (is_new) {
      row->second.path = name->path;
      row->second.pid = series.pid;
    }
    if (series.pid != row->second.pid) continue;
    if (name->kind == "size") row->second.size = values->last;
    if (name->kind == "dirty") row->second.dirty = values->last;
    if (name->kind == "evicted") row->second.evicted = values->last;
    if (name->kind == "cached") {
      row->second.cached = values->last;
      row->second.cached_first = values->first;
      row->second.cached_most = values->most;
    }
  }
  std::vector<FileCacheRow> rows;
  for (auto& [path, row] : by_path) rows.push_back(std::move(row));
  stable_sort_rows(rows.begin(), rows.end(),
                   [](const FileCacheRow& a, const FileCacheRow& b) { return a.cached > b.cached; });
  return rows;
}

}  // namespace fathom::analysis
