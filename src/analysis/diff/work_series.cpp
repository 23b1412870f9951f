#include "analysis/diff/work_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

bool is_called(std::string_view series, std::string_view name) {
  return series == name ||
         (series.size() > name.size() && series.starts_with(name) && series[name.size()] == '{');
}

std::string series_of(const model::Profile& profile) {
  std::set<std::string> names;
  for (const model::Series& series : profile.series) names.insert(printable(profile.strings[series.name]));
  constexpr std::size_t kMost = 12;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kMost) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

bool has_series(const model::Profile& profile, std::string_view name) {
  return std::ranges::any_of(profile.series, [&](const model::Series& series) {
    return is_called(profile.strings[series.name], name);
  });
}

Result<double> work_of_series(const model::Profile& profile, std::string_view name,
                              std::optional<std::uint64_t> from_ns, std::optional<std::uint64_t> to_ns) {
  if (!has_series(profile, name))
    return fail(ErrorKind::kNotFound, fmt::format("no series is called '{}'", printable(name)),
                fmt::format("--work-base N --work-new M; recorded were: {}", series_of(profile)));
  const auto start = static_cast<double>(profile.meta.start_ns);
  const double from = from_ns ? start + static_cast<double>(*from_ns) : 0;
  const double to = to_ns ? start + static_cast<double>(*to_ns) : HUGE_VAL;
  double grown = 0;
  std::size_t falls = 0, steps = 0;
  for (const model::Series& series : profile.series) {
    if (!is_called(profile.strings[series.name], name)) continue;
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      const model::Point &a = series.points[i - 1], &b = series.points[i];
      const auto begin = static_cast<double>(a.time_ns), end = static_cast<double>(b.time_ns);
      if (!std::isfinite(a.value) || !std::isfinite(b.value) || end <= begin) continue;
      const double inside = std::min(end, to) - std::max(begin, from);
      if (inside <= 0) continue;
      ++steps;
      const bool again = b.value < a.value;  // a restarted process counts from 0
      falls += again ? 1 : 0;
      grown += (again ? std::max(b.value, 0.0) : b.value - a.value) * inside / (end - begin);
    }
  }
  // A gauge falls as often as it rises.
  if (falls > 1 && falls * 10 > steps)
    return fail(ErrorKind::kUsage,
                fmt::format("series '{}' goes up and down: it counts no work", printable(name)),
                "a counter, or --work-base N --work-new M");
  if (!(grown > 0) || !std::isfinite(grown))
    return fail(ErrorKind::kUsage, fmt::format("series '{}' did not grow in this time", printable(name)),
                "a longer range, another series, or --work-base N --work-new M");
  return grown;
}

}  // namespace fathom::analysis
