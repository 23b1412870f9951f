#include "present/text/time_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fathom::present {
namespace {

constexpr double kMostBesideTheHeap = 8, kLeastBesideTheHeap = 0.02;  // times the heap's own peak

std::string plain(double value) {  // without zeros at the end
  std::string text = fmt::format("{:.3f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string ByteAxis::label(std::size_t line) const {
  return plain(step * static_cast<double>(line) / unit);
}

ByteAxis byte_axis(double most, std::size_t max_steps, bool round_only) {
  static constexpr std::array<const char*, 6> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  // Steps, and how many of them make a rounder number.
  static constexpr std::array<std::pair<double, std::size_t>, 9> kRound = {
      {{1, 5}, {1.2, 5}, {1.5, 4}, {2, 5}, {2.5, 4}, {3, 5}, {4, 5}, {5, 4}, {6, 5}}};
  ByteAxis axis;
  most = std::clamp(most, 1.0, 1e18);
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && most >= axis.unit * 1024; ++unit) axis.unit *= 1024;
  axis.unit_name = kUnits[unit];
  const double least = most / axis.unit / static_cast<double>(max_steps);
  double power = std::pow(10, std::floor(std::log10(least)));
  if (unit == 0) power = std::max(power, 1.0);  // there are no halves of bytes
  double step = 0;
  for (; step == 0; power *= 10) {
    for (const auto& [round, steps] : kRound) {
      const bool whole = unit != 0 || round * power == std::floor(round * power);
      const bool fits = !round_only || round == 1 || round == 2 || round == 2.5 || round == 5;
      if (!whole || !fits || step != 0 || round * power < least) continue;
      step = round * power;
      axis.round = steps;
    }
  }
  axis.step = step * axis.unit;
  axis.steps = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(most / axis.step - 1e-9)));
  return axis;
}

std::vector<TimeTick> time_ticks(double from_s, double to_s, std::size_t max_ticks) {
  static constexpr std::array<double, 20> kLong = {10,    15,    20,     30,     60,     120,    300,
                                                   600,   900,   1800,   3600,   7200,   10800,  21600,
                                                   43200, 86400, 172800, 432000, 864000, 1728000};
  const double least = std::max(to_s - from_s, 1e-6) / static_cast<double>(max_ticks);
  double step = 0;
  for (double power = 1e-7; power < 10 && step == 0; power *= 10)
    for (const double round : {1.0, 2.0, 5.0})
      if (step == 0 && round * power >= least && round * power < 10) step = round * power;
  for (const double longer : kLong)
    if (step == 0 && longer >= least) step = longer;
  if (step == 0) step = std::pow(10, std::ceil(std::log10(least)));

  double unit = 1;
  std::string name = "s";
  if (step >= 86400) {
    unit = 86400, name = "d";
  } else if (step >= 3600) {
    unit = 3600, name = "h";
  } else if (step >= 60) {
    unit = 60, name = "min";
  } else if (to_s < 1) {
    unit = to_s < 1e-3 ? 1e-6 : 1e-3, name = to_s < 1e-3 ? "us" : "ms";
  }
  std::vector<TimeTick> ticks;
  for (double n = std::ceil(from_s / step - 1e-9); n * step <= to_s + step * 1e-9; ++n) {
    if (ticks.size() >= max_ticks + 1) break;
    ticks.push_back({n * step, plain(n * step / unit) + " " + name});
  }
  return ticks;
}

analysis::TimelinePoint point_at(const analysis::HeapTimeline& timeline, double time_s) {
  const auto& points = timeline.points;
  analysis::TimelinePoint here;
  here.time_s = time_s;
  here.groups.resize(timeline.groups.size());
  const auto after = std::upper_bound(points.begin(), points.end(), time_s,
                                      [](double time, const auto& point) { return time < point.time_s; });
  if (after == points.begin()) return here;
  const analysis::TimelinePoint& a = *(after - 1);
  if (after == points.end()) {
    if (a.time_s == time_s) here = a;
    return here;
  }
  const double part = (time_s - a.time_s) / (after->time_s - a.time_s);
  for (std::size_t g = 0; g < here.groups.size(); ++g) {
    here.groups[g] = a.groups[g] + (after->groups[g] - a.groups[g]) * part;
    here.total += here.groups[g];
  }
  return here;
}

bool is_beyond(const analysis::HeapTimeline& timeline, const analysis::TimelineLine& line) {
  return line.most() > kMostBesideTheHeap * timeline.most();
}

bool is_drawn(const analysis::HeapTimeline& timeline, const analysis::TimelineLine& line) {
  return !is_beyond(timeline, line) && line.most() >= kLeastBesideTheHeap * timeline.most();
}

double most_drawn(const analysis::HeapTimeline& timeline) {
  double most = timeline.most();
  for (const analysis::TimelineLine& line : timeline.lines)
    if (is_drawn(timeline, line)) most = std::max(most, line.most());
  return most;
}

}  // namespace fathom::present
