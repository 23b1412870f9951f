#include "analysis/summary/resource_growth.h"

#include <algorithm>
#include <array>
#include <map>

#include "analysis/core/words.h"
#include "analysis/summary/resource_makers.h"
#include "base/stable_sort.h"
#include "model/counted_limit.h"
#include "model/newest_descriptors.h"

namespace fathom::analysis {
namespace {

constexpr std::array<std::string_view, 4> kResourceNames{"descriptors", "threads", "children", "zombies"};
constexpr double kLeastGrowth = 8;

std::vector<TrendPoint> points_of_count(const model::Profile& profile, const model::Series& series,
                                        const Selection& selection) {
  std::vector<TrendPoint> points;
  for (const model::Point& point : series.points) {
    const std::uint64_t into =
        point.time_ns > profile.meta.start_ns ? point.time_ns - profile.meta.start_ns : 0;
    if (into >= selection.from_ns.value_or(0) && into < selection.to_ns.value_or(UINT64_MAX))
      points.push_back({static_cast<double>(into) * 1e-9, point.value});
  }
  return points;
}

std::uint64_t limit_of(const model::Profile& profile, std::int32_t pid, CountedResource resource) {
  const auto kind = resource == CountedResource::kDescriptors ? model::CountedLimit::Kind::kDescriptors
                                                              : model::CountedLimit::Kind::kTasks;
  for (const model::LimitsOfProcess& of : model::counted_limits_of(profile.meta.facts))
    if (of.pid == pid)
      for (const model::CountedLimit& limit : of.limits)
        if (limit.kind == kind) return limit.limit;
  return 0;
}

// Of all that the limit counts, so much is there: a control group has other tasks, too.
double used_of(const model::Profile& profile, std::int32_t pid, CountedResource resource, double last) {
  if (resource == CountedResource::kDescriptors) return last;
  for (const model::LimitsOfProcess& of : model::counted_limits_of(profile.meta.facts))
    if (of.pid == pid)
      for (const model::CountedLimit& limit : of.limits)
        if (limit.kind == model::CountedLimit::Kind::kTasks)
          return std::max(last, static_cast<double>(limit.used));
  return last;
}

std::string kind_of_descriptors(const model::Profile& profile, std::int32_t pid) {
  const auto newest = model::newest_descriptors_of(pid, profile.meta.facts);
  return newest && newest->alike * 2 > newest->asked ? printable(newest->kind) : std::string();
}

std::string kind_of_growth(const model::Profile& profile, const ResourceGrowth& growth) {
  switch (growth.resource) {
    case CountedResource::kDescriptors:
      return kind_of_descriptors(profile, growth.pid);
    case CountedResource::kThreads:
      return start_of_new_threads(profile, growth.pid);
    case CountedResource::kChildren:
    case CountedResource::kZombies:
      return program_of_children(profile, growth.pid);
  }
  return "";
}

// A process has a row for each program that it executed; the last one is what it is now.
std::string last_name_of(const model::Profile& profile, std::int32_t pid) {
  std::string name;
  for (const model::Process& process : profile.processes)
    if (process.pid == pid) name = printable(profile.strings[process.name]);
  return name;
}

}  // namespace

std::string_view to_string(CountedResource resource) {
  return kResourceNames[static_cast<std::size_t>(resource)];
}

bool is_resource_growth(const Trend& trend) {
  if (trend.shape != TrendShape::kGrowing || trend.level_at_last) return false;
  // A pool that fills rises ever more slowly.
  if (trend.slowing && trend.late_per_s < 0.25 * trend.early_per_s) return false;
  return trend.growth() >= kLeastGrowth && trend.last - trend.first >= kLeastGrowth;
}

std::vector<ResourceGrowth> find_resource_growth(const model::Profile& profile, const Selection& selection) {
  std::vector<ResourceGrowth> all;
  if (selection.stacks || selection.thread) return all;
  std::map<std::pair<std::int32_t, CountedResource>, Trend> trends;
  for (const model::Series& series : profile.series) {
    constexpr std::string_view kOfProcess = "process.";
    std::string_view name = profile.strings[series.name];
    if (!name.starts_with(kOfProcess) || (selection.pid && series.pid != *selection.pid)) continue;
    name.remove_prefix(kOfProcess.size());
    const auto known = std::ranges::find(kResourceNames, name);
    if (known == kResourceNames.end()) continue;
    const auto resource = static_cast<CountedResource>(known - kResourceNames.begin());
    const Trend trend = find_trend(points_of_count(profile, series, selection));
    if (is_resource_growth(trend)) trends[{series.pid, resource}] = trend;
  }
  for (const auto& [of, trend] : trends) {
    const auto [pid, resource] = of;
    // Zombies are children, too: the worse news is enough.
    if (resource == CountedResource::kChildren) {
      const auto zombies = trends.find({pid, CountedResource::kZombies});
      if (zombies != trends.end() && zombies->second.growth() >= 0.5 * trend.growth()) continue;
    }
    ResourceGrowth growth;
    growth.resource = resource;
    growth.pid = pid;
    growth.process = last_name_of(profile, pid);
    growth.first = trend.first;
    growth.last = trend.last;
    growth.seconds = trend.duration_s;
    growth.per_s = trend.slope.per_s;
    growth.limit = limit_of(profile, pid, resource);
    const double used = used_of(profile, pid, resource, trend.last);
    if (growth.limit != 0 && growth.per_s > 0)
      growth.left_s = std::max(0.0, static_cast<double>(growth.limit) - used) / growth.per_s;
    growth.kind = kind_of_growth(profile, growth);
    growth.maker = find_resource_maker(profile, growth);
    all.push_back(std::move(growth));
  }
  stable_sort_rows(all.begin(), all.end(), [](const ResourceGrowth& a, const ResourceGrowth& b) {
    if (a.left_s && b.left_s) return *a.left_s < *b.left_s;
    return a.left_s || b.left_s ? a.left_s.has_value() : a.per_s > b.per_s;
  });
  return all;
}

}  // namespace fathom::analysis
