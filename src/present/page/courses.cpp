#include "present/page/courses.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "analysis/core/selection.h"
#include "present/page/call_nodes.h"
#include "present/page/cost_table.h"
#include "present/page/time_slices.h"

namespace fathom::page {
namespace {

constexpr std::uint32_t kMostSteps = 300;

// Values per second of a table, without what is idle. `scale`: from values to seconds.
std::vector<double> over_time(const CostTable& table, const CallNodes& calls, const TimeSlices& slices,
                              double scale, double duration_s) {
  const double step_s = static_cast<double>(slices.width_ms()) / 1000;
  std::vector<double> values(slices.count());
  for (std::size_t cell = 0; cell < table.cells.size(); ++cell) {
    if (calls.places[calls.nodes[table.cells[cell].node].place].kind == PlaceKind::kIdle) continue;
    for (std::uint32_t i = table.first[cell]; i < table.first[cell + 1]; ++i)
      values[table.slices[i]] += static_cast<double>(table.values[i]) * scale;
  }
  // The last step may be shorter.
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] /= std::clamp(duration_s - static_cast<double>(i) * step_s, 1e-9, step_s);
  return values;
}

// Readings of all processes at the end of each step: the last one before it. Before its first reading a process has nothing.
void add_readings(std::vector<double>& sums, const std::vector<model::Point>& points,
                  const TimeSlices& slices, std::uint64_t start_ns) {
  std::size_t next = 0;
  double value = 0;
  for (std::uint32_t i = 0; i < slices.count(); ++i) {
    while (next < points.size() && points[next].time_ns <= start_ns + slices.edge_ns(i + 1))
      value = points[next++].value;
    sums[i] += value;
  }
}

constexpr std::array<std::string_view, 3> kResident{"memory.rss_anon", "memory.rss_file", "memory.rss_shmem"};

}  // namespace

Courses courses_of(const model::Profile& profile) {
  Courses courses;
  const std::uint64_t start_ns = profile.meta.start_ns, end_ns = profile.meta.end_ns;
  if (end_ns <= start_ns) return courses;
  const TimeSlices slices(start_ns, end_ns, kMostSteps);
  courses.step_s = static_cast<double>(slices.width_ms()) / 1000;
  CallNodes calls(profile);
  const Costs costs = add_up_costs(profile, slices, calls);
  const double period_ns = analysis::sample_period_ns(profile);
  const double duration_s = static_cast<double>(end_ns - start_ns) * 1e-9;
  for (const CostTable& table : costs.tables) {
    if (table.metric == model::Metric::kCpu && period_ns > 0)
      courses.lines.push_back(
          {"CPU", "cores", over_time(table, calls, slices, period_ns * 1e-9, duration_s)});
    if (table.metric == model::Metric::kOffCpu)
      courses.lines.push_back({"Waiting", "threads", over_time(table, calls, slices, 1e-9, duration_s)});
  }
  Course resident{"Memory", "bytes", std::vector<double>(slices.count())};
  bool has_memory = false;
  for (const model::Series& series : profile.series) {
    if (std::ranges::find(kResident, std::string_view(profile.strings[series.name])) == kResident.end())
      continue;
    has_memory = true;
    add_readings(resident.values, series.points, slices, start_ns);
  }
  if (has_memory) courses.lines.push_back(std::move(resident));
  std::map<std::uint32_t, std::vector<model::Point>> live;  // by heap
  for (const model::HeapSlice& slice : profile.heap.slices)
    live[slice.heap.value].push_back({slice.end_ns, slice.live_bytes});
  if (!live.empty()) {
    Course heap{"Live heap", "bytes", std::vector<double>(slices.count())};
    for (const auto& [unused, points] : live) add_readings(heap.values, points, slices, start_ns);
    courses.lines.push_back(std::move(heap));
  }
  return courses;
}

nlohmann::ordered_json add_courses(const Courses& base, const Courses& fresh, Columns& columns) {
  auto lines = nlohmann::ordered_json::array();
  for (const Course& line : base.lines) {
    const auto other = std::ranges::find(fresh.lines, line.name, &Course::name);
    if (other == fresh.lines.end()) continue;
    const std::string name = "course." + std::to_string(lines.size());
    columns.add_reals(name + ".base", line.values);
    columns.add_reals(name + ".new", other->values);
    lines.push_back({{"name", line.name}, {"unit", line.unit}, {"columns", name}});
  }
  return {{"step_s", {base.step_s, fresh.step_s}}, {"lines", std::move(lines)}};
}

}  // namespace fathom::page
