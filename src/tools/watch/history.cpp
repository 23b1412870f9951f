#include "tools/watch/history.h"

#include <algorithm>
#include <utility>

namespace fathom::watch {
namespace {

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

template <class Points, class Value>
std::optional<analysis::Slope> slope_over(const Points& points, Value value) {
  std::vector<analysis::TimedValue> values;
  values.reserve(points.size());
  for (const auto& point : points) values.push_back({point.time_s, value(point)});
  return analysis::slope_of(values);
}

}  // namespace

void History::add_composition(const Composition& composition) {
  if (composition.time_ns <= composed_ns_) return;
  composed_ns_ = composition.time_ns;
  const double now = seconds(composition.time_ns);
  const auto& lines = composition.lines.lines;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    auto& values = lines_[{std::string(lines[i].kind), lines[i].name}];
    values.push_back({now, static_cast<double>(lines[i].bytes)});
    if (values.size() > kMostValues) values.pop_front();
  }
  // What was not seen this time is gone.
  std::erase_if(lines_, [&](const auto& line) { return line.second.back().time_s < now; });
  // Many looks share one composition.
  shown_.clear();
  for (const analysis::MemoryLine& line : lines) {
    LineView& shown = shown_.emplace_back();
    shown.line = line;
    const auto values = lines_.find({std::string(line.kind), line.name});
    if (values == lines_.end()) continue;
    for (const analysis::TimedValue& value : values->second) shown.values.push_back(value.value);
    if (shown.values.size() > 1)
      shown.change = static_cast<std::int64_t>(shown.values.back() - shown.values[shown.values.size() - 2]);
    shown.slope = slope_over(values->second, [](const analysis::TimedValue& value) { return value.value; });
  }
}

// A slope over minutes answers late: a process that takes 50 MiB/s is dead before it is certain. So the lowest point of the last
// seconds is compared with the present one.
std::optional<RecentRise> History::recent_rise(const sources::MemoryLimit* limit) const {
  constexpr double kWindow = 10, kLeastShare = 0.05, kLeastBytes = 8 << 20, kLongest = 3600;
  const Point& now = looks_.back();
  const Point* lowest = &now;
  for (const Point& point : looks_)
    if (now.time_s - point.time_s <= kWindow && point.rss <= lowest->rss) lowest = &point;
  const double bytes = now.rss - lowest->rss, passed = now.time_s - lowest->time_s;
  if (passed <= 0 || bytes < std::max(kLeastBytes, kLeastShare * lowest->rss)) return std::nullopt;
  RecentRise rise{static_cast<std::uint64_t>(bytes), passed};
  // What has stopped rising meets no limit at that rate.
  const Point* middle = lowest;
  for (const Point& point : looks_)
    if (point.time_s >= lowest->time_s && point.time_s <= now.time_s - passed / 2) middle = &point;
  const bool goes_on = now.anonymous - middle->anonymous >= 0.25 * (now.anonymous - lowest->anonymous);
  // Pages of files give way; only anonymous memory meets the limit.
  const double rate = (now.anonymous - lowest->anonymous) / passed;
  if (limit != nullptr && rate > 0 && goes_on) {
    const double left = static_cast<double>(limit->room()) / rate;
    if (left <= kLongest) rise.left_s = left;
  }
  return rise;
}

void History::add_counts(const Look& look) {
  using enum analysis::CountedResource;
  const auto add = [&](analysis::CountedResource resource, std::optional<std::uint64_t> count) {
    if (!count) return;
    auto& points = counts_[resource];
    points.push_back({seconds(look.time_ns), static_cast<double>(*count)});
    if (points.size() > kMostLooks) points.pop_front();
  };
  add(kDescriptors, look.descriptors);
  add(kThreads, look.figures.threads);
  if (!look.children) return;
  add(kChildren, look.children->all - look.children->zombies);
  add(kZombies, look.children->zombies);
}

std::vector<CountGrowth> History::growing_counts(const Look& look) const {
  std::vector<CountGrowth> growing;
  for (const auto& [resource, points] : counts_) {
    const std::vector<analysis::TrendPoint> values(points.begin(), points.end());
    const analysis::Trend trend = analysis::find_trend(values);
    if (!analysis::is_resource_growth(trend)) continue;
    CountGrowth growth{resource, trend.slope.per_s, static_cast<std::uint64_t>(trend.last), 0, {}};
    const auto kind = resource == analysis::CountedResource::kDescriptors
                          ? model::CountedLimit::Kind::kDescriptors
                          : model::CountedLimit::Kind::kTasks;
    for (const model::CountedLimit& limit : look.counted) {
      if (limit.kind != kind) continue;
      // A control group has other tasks, too.
      const std::uint64_t used = std::max(limit.used, growth.now);
      growth.limit = limit.limit;
      growth.left_s = static_cast<double>(limit.limit - std::min(limit.limit, used)) / growth.per_s;
    }
    growing.push_back(growth);
  }
  return growing;
}

View History::add(Look look, std::uint64_t own_cpu_ns, std::uint64_t own_rss,
                  std::vector<std::string> missing) {
  View view;
  view.pid = pid_;
  view.name = name_;
  view.own_rss = own_rss;
  view.missing = std::move(missing);
  if (before_ && look.time_ns > before_->time_ns) {
    const double passed = seconds(look.time_ns - before_->time_ns);
    const auto rate = [&](std::uint64_t now, std::uint64_t then) {
      return now > then ? static_cast<double>(now - then) / passed : 0.0;
    };
    view.rss_change = static_cast<std::int64_t>(look.figures.rss - before_->figures.rss);
    view.minor_faults_per_s = rate(look.figures.minor_faults, before_->figures.minor_faults);
    view.major_faults_per_s = rate(look.figures.major_faults, before_->figures.major_faults);
    if (look.pressure && before_->pressure)
      view.pressure_some = std::min(1.0, rate(look.pressure->some_us, before_->pressure->some_us) * 1e-6);
    view.own_cpu_share = rate(own_cpu_ns, own_cpu_before_ns_) * 1e-9;
  }
  own_cpu_before_ns_ = own_cpu_ns;
  looks_.push_back({seconds(look.time_ns), static_cast<double>(look.figures.rss),
                    static_cast<double>(look.figures.anonymous)});
  if (looks_.size() > kMostLooks) looks_.pop_front();
  view.rss_values.reserve(looks_.size());
  for (const Point& point : looks_) view.rss_values.push_back(point.rss);
  view.rss_slope = slope_over(looks_, [](const Point& point) { return point.rss; });
  view.anonymous_slope = slope_over(looks_, [](const Point& point) { return point.anonymous; });

  if (look.composition != nullptr) {
    add_composition(*look.composition);
    view.composition_age_s =
        look.time_ns > look.composition->time_ns ? seconds(look.time_ns - look.composition->time_ns) : 0;
    view.lines = shown_;
  }
  if (const sources::MemoryLimit* limit = sources::first_to_be_met(look.limits.limits)) {
    view.limit = *limit;
    // Pages of files give way; what grows towards the limit is the anonymous memory.
    const auto& slope =
        limit->kind == sources::LimitKind::kAddressSpace ? std::nullopt : view.anonymous_slope;
    if (slope) view.time_left = analysis::time_left(*slope, static_cast<double>(limit->room()));
  }
  add_counts(look);
  view.growing_counts = growing_counts(look);
  view.recent_rise = recent_rise(view.limit ? &*view.limit : nullptr);
  before_ = look;
  view.look = std::move(look);
  return view;
}

}  // namespace fathom::watch
