#include "analysis/metrics/components.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fathom::analysis {
namespace {

// A component that is certain to be less than this part of the growth is ruled out.
constexpr double kLittle = 0.05;

// The series of one component, summed at the moments of all of them. A series that has no value yet, or has ended, counts
// with the value that is nearest in time before; before its first one as nothing.
std::vector<TimedValue> sum_of(const std::vector<std::vector<TimedValue>>& parts) {
  if (parts.size() == 1) return parts.front();
  std::vector<double> times;
  for (const auto& part : parts)
    for (const TimedValue& point : part) times.push_back(point.time_s);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<TimedValue> sum;
  std::vector<std::size_t> next(parts.size(), 0);
  for (const double time : times) {
    double value = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      while (next[i] < parts[i].size() && parts[i][next[i]].time_s <= time) ++next[i];
      if (next[i] > 0) value += parts[i][next[i] - 1].value;
    }
    sum.push_back({time, value});
  }
  return sum;
}

std::vector<TimedValue> within(std::span<const TimedValue> points, double from, double to) {
  std::vector<TimedValue> inside;
  for (const TimedValue& point : points)
    if (point.time_s >= from && point.time_s <= to) inside.push_back(point);
  return inside;
}

void judge(ComponentGrowth& growth, const std::optional<Slope>& memory) {
  if (!growth.slope || !memory) return;
  const Slope& slope = *growth.slope;
  if (growth.meaning == MetricMeaning::kCount) {
    growth.verdict = slope.grows()     ? ComponentVerdict::kGrows
                     : slope.high <= 0 ? ComponentVerdict::kRuledOut
                                       : ComponentVerdict::kUnclear;
    return;
  }
  if (!memory->grows()) return;
  if (slope.high <= kLittle * memory->low) {
    growth.verdict = ComponentVerdict::kRuledOut;
  } else if (slope.grows()) {
    growth.verdict = ComponentVerdict::kExplains;
    growth.share = slope.per_second / memory->per_second;
    growth.share_low = slope.low / memory->high;
    growth.share_high = slope.high / memory->low;
  } else {
    growth.verdict = ComponentVerdict::kUnclear;
  }
}

}  // namespace

std::vector<TimedValue> since_first(std::span<const TimedValue> counter) {
  std::vector<TimedValue> sums;
  double sum = 0, before = counter.empty() ? 0 : counter.front().value;
  for (const TimedValue& point : counter) {
    sum += point.value >= before ? point.value - before : point.value;
    before = point.value;
    sums.push_back({point.time_s, sum});
  }
  return sums;
}

Components explain_growth(std::span<const MetricSeries> series, std::span<const TimedValue> memory,
                          const ComponentRules& rules) {
  Components found;
  using Key = std::pair<MetricMeaning, std::string>;
  struct Parts {
    const ComponentRule* rule = nullptr;
    std::vector<std::vector<TimedValue>> points;
  };
  std::map<Key, Parts> parts;
  double from = 0, to = 0;
  bool any = false;
  for (const MetricSeries& one : series) {
    if (one.points.empty()) continue;
    const ComponentRule* rule = rules.find(one.name);
    if (rule == nullptr || rule->meaning == MetricMeaning::kFile) continue;
    Parts& row = parts[{rule->meaning, rule->component}];
    row.rule = rule;
    // A counter of bytes counts what was handed out, not what is held.
    if (one.is_counter) continue;
    row.points.push_back(one.points);
    from = any ? std::min(from, one.points.front().time_s) : one.points.front().time_s;
    to = any ? std::max(to, one.points.back().time_s) : one.points.back().time_s;
    any = true;
  }
  if (!any) return found;
  found.seconds = to - from;
  found.memory = slope_of(within(memory, from, to));
  if (!memory.empty()) found.memory_last = memory.back().value;
  for (const auto& [key, row] : parts) {
    if (row.points.empty()) continue;
    const std::vector<TimedValue> points = sum_of(row.points);
    ComponentGrowth growth;
    growth.meaning = row.rule->meaning;
    growth.component = row.rule->component;
    growth.crates = row.rule->crates;
    growth.unusual_bytes = row.rule->unusual_bytes;
    growth.series = row.points.size();
    growth.first = points.front().value;
    growth.last = points.back().value;
    growth.slope = slope_of(points);
    judge(growth, found.memory);
    const bool is_whole = growth.meaning == MetricMeaning::kAll;
    if (!is_whole && growth.verdict == ComponentVerdict::kExplains) found.explained += growth.share;
    (is_whole ? found.whole : found.components).push_back(std::move(growth));
  }
  const auto order = [](const ComponentGrowth& a, const ComponentGrowth& b) {
    return std::tuple(a.meaning, -a.share, -a.last, a.component) <
           std::tuple(b.meaning, -b.share, -b.last, b.component);
  };
  std::sort(found.components.begin(), found.components.end(), order);
  std::sort(found.whole.begin(), found.whole.end(), order);
  return found;
}

std::vector<const ComponentGrowth*> Components::unusual() const {
  std::vector<const ComponentGrowth*> rows;
  for (const ComponentGrowth& growth : components)
    if (growth.unusual_bytes != 0 && growth.last >= static_cast<double>(growth.unusual_bytes))
      rows.push_back(&growth);
  return rows;
}

}  // namespace fathom::analysis
