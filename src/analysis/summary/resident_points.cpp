#include "analysis/summary/resident_points.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace fathom::analysis {

std::vector<TrendPoint> resident_points(const model::Profile& profile, const Selection& selection,
                                        ResidentPart part) {
  // By number: the end of its last program; UINT64_MAX if it outlived the recording.
  std::map<std::int32_t, std::uint64_t> ends;
  for (const model::Process& process : profile.processes) {
    std::uint64_t& end = ends[process.pid];
    end = std::max(end, process.end_ns != 0 ? process.end_ns : UINT64_MAX);
  }
  struct Reading {
    double bytes = 0;
    std::uint64_t until_ns = 0;
  };
  // Series of one process are read at the same moments; those of several are added up to the last value of each.
  std::map<std::uint64_t, std::map<std::size_t, Reading>> moments;
  for (std::size_t i = 0; i < profile.series.size(); ++i) {
    const model::Series& series = profile.series[i];
    const std::string_view name = profile.strings[series.name];
    const bool counts = part == ResidentPart::kAll ? name.starts_with("memory.rss_")
                                                   : name == "memory.rss_anon" || name == "memory.rss_shmem";
    if (!counts || (selection.pid && series.pid != *selection.pid)) continue;
    const auto end = ends.find(series.pid);
    for (const model::Point& point : series.points) {
      const std::uint64_t into =
          point.time_ns > profile.meta.start_ns ? point.time_ns - profile.meta.start_ns : 0;
      if (into >= selection.from_ns.value_or(0) && into < selection.to_ns.value_or(UINT64_MAX))
        moments[point.time_ns][i] = {point.value, end == ends.end() ? UINT64_MAX : end->second};
    }
  }
  std::map<std::size_t, Reading> now;
  std::vector<TrendPoint> points;
  for (const auto& [time_ns, values] : moments) {
    std::erase_if(now, [&, at = time_ns](const auto& entry) { return entry.second.until_ns < at; });
    for (const auto& [series, reading] : values) now[series] = reading;
    double sum = 0;
    for (const auto& [series, reading] : now) sum += reading.bytes;
    if (sum <= 0) continue;  // all had ended
    points.push_back(
        {(static_cast<double>(time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9, sum});
  }
  return points;
}

}  // namespace fathom::analysis
