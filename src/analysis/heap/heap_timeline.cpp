#include "analysis/heap/heap_timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/core/heap.h"
#include "analysis/heap/heap_curves.h"
#include "base/stable_sort.h"
#include "model/facts.h"
#include "model/marks.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::array<std::string_view, 4> kByNames = {"function", "module", "thread", "allocator"};

double seconds_into(const Profile& profile, std::uint64_t time_ns) {
  const std::uint64_t start = profile.meta.start_ns;
  return time_ns >= start ? static_cast<double>(time_ns - start) * 1e-9
                          : -static_cast<double>(start - time_ns) * 1e-9;
}

class Timeline {
 public:
  Timeline(const Profile& profile, const TimelineOptions& options)
      : profile_(profile), heap_(profile.heap), options_(options), filter_(profile, options.selection) {}

  HeapTimeline make() {
    out_.by = options_.by;
    HeapCurves curves = make_heap_curves(profile_, options_);
    heaps_ = std::move(curves.heaps);
    curves_ = std::move(curves.curves);
    out_.groups = std::move(curves.groups);
    out_.sampled = curves.sampled;
    out_.losses = heap_losses(profile_, options_.selection.pid);
    join();
    finish_groups();
    read_lines();
    set_axis();
    if (options_.moved) add_up_moved();
    thin_out();
    out_.peak.part_of_slice =
        std::any_of(heap_.heaps.begin(), heap_.heaps.end(), [](const Heap& heap) { return heap.chosen; });
    return std::move(out_);
  }

 private:
  // The sum of all heaps at each moment at which something is known about one of them, and the peak of that
  // sum.
  void join() {
    struct Moment {
      std::uint64_t time_ns;
      bool after;  // just after it: a heap has ended
      auto operator<=>(const Moment&) const = default;
    };
    std::vector<Moment> moments;
    std::uint64_t last = 0;
    for (const auto& curve : curves_)
      if (!curve.empty()) last = std::max(last, curve.back().time_ns);
    for (const auto& curve : curves_) {
      for (const HeapMoment& node : curve) moments.push_back({node.time_ns, false});
      if (!curve.empty() && curve.back().time_ns < last) moments.push_back({curve.back().time_ns, true});
    }
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());

    std::vector<std::size_t> at(curves_.size());
    double never_more = 0, variance_at_peak = 0;
    for (const Moment& moment : moments) {
      TimelinePoint point;
      point.time_s = seconds_into(profile_, moment.time_ns);
      point.groups.resize(out_.groups.size());
      double variance = 0, most_after = 0;
      bool composition = true;
      for (std::size_t c = 0; c < curves_.size(); ++c) {
        const std::vector<HeapMoment>& curve = curves_[c];
        std::size_t& i = at[c];
        if (curve.empty() || moment.time_ns < curve.front().time_ns) continue;
        while (i + 1 < curve.size() && curve[i + 1].time_ns <= moment.time_ns) ++i;
        const bool is_last = i + 1 == curve.size();
        if (is_last && (moment.time_ns > curve[i].time_ns || moment.after)) continue;
        const bool exact = moment.time_ns == curve[i].time_ns;
        const HeapMoment here =
            exact ? curve[i]
                  : between(curve[i], curve[i + 1],
                            static_cast<double>(moment.time_ns - curve[i].time_ns) /
                                static_cast<double>(curve[i + 1].time_ns - curve[i].time_ns));
        for (std::size_t g = 0; g < point.groups.size(); ++g) point.groups[g] += here.groups[g];
        variance += here.variance;
        composition = composition && (here.composition || total_of(here.groups) <= 0);
        if (!is_last) most_after += curve[i + 1].most_since;
      }
      point.total = total_of(point.groups);
      never_more = std::max({never_more, point.total, most_after});
      if (out_.points.empty() || point.total > out_.peak.bytes) {
        out_.peak.time_s = point.time_s;
        out_.peak.bytes = point.total;
        out_.peak.composition_exact = composition;
        variance_at_peak = variance;
        peak_point_ = point;
      }
      out_.points.push_back(std::move(point));
    }
    if (out_.sampled) out_.peak.error = HeapAmount{out_.peak.bytes, variance_at_peak}.error();
    out_.peak.to_slice_end = options_.selection.thread.has_value();
    // Of one heap both are the same number, added up in another order.
    const double over = never_more - out_.peak.bytes;
    if (!out_.peak.to_slice_end && over > 1e-9 * never_more + 0.5) out_.peak.over = over;
  }

  // Shares of the area, and groups that are nothing at all go.
  void finish_groups() {
    std::vector<double> area(out_.groups.size());
    double all = 0;
    std::vector<char> used(out_.groups.size());
    for (std::size_t p = 0; p < out_.points.size(); ++p) {
      const TimelinePoint& b = out_.points[p];
      for (std::size_t g = 0; g < area.size(); ++g) {
        if (b.groups[g] > 0) used[g] = 1;
        if (p == 0) continue;
        const TimelinePoint& a = out_.points[p - 1];
        const double piece = (a.groups[g] + b.groups[g]) / 2 * (b.time_s - a.time_s);
        area[g] += piece;
        all += piece;
      }
    }
    std::vector<TimelineGroup> groups;
    for (std::size_t g = 0; g < area.size(); ++g) {
      if (used[g] == 0) continue;
      TimelineGroup& group = out_.groups[g];
      group.share = all > 0 ? area[g] / all : 0;
      group.at_peak = peak_point_.groups[g];
      group.at_end = out_.points.back().groups[g];
      groups.push_back(std::move(group));
    }
    out_.groups = std::move(groups);
    for (TimelinePoint& point : out_.points) {
      std::size_t kept = 0;
      for (std::size_t g = 0; g < used.size(); ++g)
        if (used[g] != 0) point.groups[kept++] = point.groups[g];
      point.groups.resize(kept);
    }
  }

  // From its time on, so much belongs to this series, or to the stacks of this process.
  struct Step {
    std::uint64_t time_ns;
    std::size_t whose;
    double bytes;
  };

  bool is_traced(std::int32_t pid) const {
    return std::any_of(heaps_.begin(), heaps_.end(), [&](std::uint32_t h) {
      return profile_.processes[heap_.heaps[h].process.value].pid == pid;
    });
  }

  // The series of that name of all traced processes.
  std::vector<Step> steps_of(std::string_view name) const {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < profile_.series.size(); ++i) {
      const Series& series = profile_.series[i];
      if (profile_.strings[series.name] != name || profile_.strings[series.unit] != "bytes") continue;
      if (!is_traced(series.pid)) continue;
      for (const Point& point : series.points) {
        if (!filter_.takes_time(point.time_ns) || !std::isfinite(point.value)) continue;
        steps.push_back({point.time_ns, i, std::max(0.0, point.value)});
      }
    }
    return steps;
  }

  // Of all threads, at each look at what the memory is made of.
  std::vector<Step> steps_of_stacks() const {
    std::map<std::pair<std::uint64_t, std::size_t>, double> looks;
    for (const MemoryRange& range : profile_.memory_ranges) {
      if (!filter_.takes_time(range.time_ns) || !is_traced(profile_.processes[range.process.value].pid))
        continue;
      const bool stack = range.kind == MemoryKind::kMainStack || range.kind == MemoryKind::kThreadStack;
      looks[{range.time_ns, range.process.value}] += stack ? static_cast<double>(range.rss_bytes) : 0;
    }
    std::vector<Step> steps;
    for (const auto& [look, bytes] : looks) steps.push_back({look.first, look.second, bytes});
    return steps;
  }

  std::vector<TimelineLine::Value> values_of(std::vector<Step> steps) const {
    stable_sort_rows(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.time_ns < b.time_ns; });
    std::map<std::size_t, double> latest;
    std::vector<TimelineLine::Value> values;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      latest[steps[i].whose] = steps[i].bytes;
      if (i + 1 < steps.size() && steps[i + 1].time_ns == steps[i].time_ns) continue;
      double all = 0;
      for (const auto& [whose, bytes] : latest) all += bytes;
      values.push_back({seconds_into(profile_, steps[i].time_ns), all});
    }
    return values;
  }

  // The program's own metrics that are sizes and that change: the four that change most.
  void read_metric_lines() {
    static constexpr std::string_view kPrefix = "metric.";
    static constexpr std::size_t kMostMetrics = 500;
    std::size_t seen = 0;
    std::vector<std::pair<double, TimelineLine>> found;
    for (const Series& series : profile_.series) {
      const std::string_view name = profile_.strings[series.name];
      if (!name.starts_with(kPrefix) || profile_.strings[series.unit] != "bytes") continue;
      if (++seen > kMostMetrics) break;  // as many as a recorder writes
      TimelineLine line{std::string(name), std::string(name.substr(kPrefix.size())),
                        values_of(steps_of(name))};
      if (line.values.empty()) continue;
      const auto [least, most] = std::minmax_element(
          line.values.begin(), line.values.end(),
          [](const TimelineLine::Value& a, const TimelineLine::Value& b) { return a.bytes < b.bytes; });
      if (const double change = most->bytes - least->bytes; change > 0)
        found.emplace_back(change, std::move(line));
    }
    stable_sort_rows(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < std::min<std::size_t>(4, found.size()); ++i)
      out_.lines.push_back(std::move(found[i].second));
  }

  void read_lines() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLines = {
        {{"memory.rss_anon", "resident, anonymous"},
         {"memory.rss_file", "resident, of files"},
         {"memory.rss_shmem", "resident, shared"},
         {"memory.swap", "swapped out"},
         {"memory.page_tables", "page tables"}}};
    for (const auto& [name, label] : kLines) {
      TimelineLine line{std::string(name), std::string(label), values_of(steps_of(name))};
      if (line.most() > 0) out_.lines.push_back(std::move(line));
    }
    read_metric_lines();
    TimelineLine stacks{"memory.stacks", "thread stacks", values_of(steps_of_stacks())};
    if (stacks.most() > 0) out_.lines.push_back(std::move(stacks));
  }

  void set_axis() {
    const Selection& selection = options_.selection;
    out_.from_s = static_cast<double>(selection.from_ns.value_or(0)) * 1e-9;
    out_.to_s = profile_.duration_s();
    if (selection.to_ns) out_.to_s = std::min(out_.to_s, static_cast<double>(*selection.to_ns) * 1e-9);
    if (!out_.points.empty()) {
      out_.from_s = std::min(out_.from_s, out_.points.front().time_s);
      out_.to_s = std::max(out_.to_s, out_.points.back().time_s);
    }
    out_.to_s = std::max(out_.to_s, out_.from_s);
    for (model::Phase& phase : model::phases_of(profile_)) {
      if (phase.from_s >= out_.from_s && phase.from_s <= out_.to_s)
        out_.marks.push_back({phase.from_s, std::move(phase.name)});
    }
    for (const std::uint32_t h : heaps_) {
      const double start = seconds_into(profile_, heap_.heaps[h].start_ns);
      out_.tracing_s = h == heaps_.front() ? start : std::min(out_.tracing_s, start);
      // A dump has what was live before it, too.
      out_.from_start = out_.from_start && (heap_.heaps[h].from_start ||
                                            !facts_of<ImportFacts>(profile_.meta).heap_source.empty());
      out_.earlier_bytes = std::max(out_.earlier_bytes, heap_.heaps[h].earlier_rss_bytes);
    }
  }

  // Of each column the largest and the last.
  // Inside of a slice allocations are taken to be evenly spread.
  void add_up_moved() {
    const HeapSums sums(profile_, options_.selection);
    std::vector<double> bytes(heap_.slices.size());
    for (const HeapRow& row : heap_.all_rows())
      if (sums.takes(row.site)) bytes[row.slice.value] += row.allocated.bytes + row.freed.bytes;
    std::map<double, double> changes;  // of the rate, bytes per second, by time
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] <= 0) continue;
      constexpr double kShortest = 1e-9;
      const double from = seconds_into(profile_, heap_.slices[i].start_ns);
      const double to = std::max(from + kShortest, seconds_into(profile_, heap_.slices[i].end_ns));
      const double first = std::max(from, out_.from_s), last = std::min(to, out_.to_s);
      if (last <= first) continue;
      changes[first] += bytes[i] / (to - from);
      changes[last] -= bytes[i] / (to - from);
    }
    if (changes.empty()) return;
    out_.moved.push_back({out_.from_s, 0});
    double sum = 0, rate = 0, since = out_.from_s;
    for (const auto& [time_s, change] : changes) {
      sum += std::max(0.0, rate) * (time_s - since);
      out_.moved.push_back({time_s, sum});
      rate += change;
      since = time_s;
    }
    out_.moved.push_back({out_.to_s, sum});
  }

  template <class Row, class Value>
  void thin_out(std::vector<Row>& rows, Value value) const {
    if (options_.columns == 0 || rows.size() <= 2 * options_.columns) return;
    const auto column = [&](const Row& row) {
      return static_cast<std::int64_t>(out_.part_at(row.time_s) * static_cast<double>(options_.columns));
    };
    std::vector<Row> kept;
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t end = i, most = i;
      for (; end < rows.size() && column(rows[end]) == column(rows[i]); ++end)
        if (value(rows[end]) > value(rows[most])) most = end;
      if (i == 0 && most != 0) kept.push_back(rows[0]);  // where it began
      kept.push_back(rows[most]);
      if (most != end - 1) kept.push_back(rows[end - 1]);
      i = end;
    }
    rows = std::move(kept);
  }
  void thin_out() {
    thin_out(out_.points, [](const TimelinePoint& point) { return point.total; });
    for (TimelineLine& line : out_.lines)
      thin_out(line.values, [](const TimelineLine::Value& value) { return value.bytes; });
  }

  const Profile& profile_;
  const HeapTables& heap_;
  const TimelineOptions& options_;
  Filter filter_;
  HeapTimeline out_;
  std::vector<std::uint32_t> heaps_;             // that are selected
  std::vector<std::vector<HeapMoment>> curves_;  // by place in heaps_
  TimelinePoint peak_point_;
};

}  // namespace

double HeapTimeline::part_at(double time_s) const {
  if (moved.empty() || moved.back().bytes <= 0)
    return to_s > from_s ? (time_s - from_s) / (to_s - from_s) : 0;
  const auto after = std::ranges::lower_bound(moved, time_s, {}, &MovedBytes::time_s);
  if (after == moved.end()) return 1;
  if (after == moved.begin()) return 0;
  const MovedBytes& before = *(after - 1);
  const double length = after->time_s - before.time_s,
               part = length > 0 ? (time_s - before.time_s) / length : 0;
  return (before.bytes + part * (after->bytes - before.bytes)) / moved.back().bytes;
}

std::string_view to_string(TimelineBy by) {
  return kByNames[static_cast<std::size_t>(by)];
}

std::optional<TimelineBy> timeline_by_from(std::string_view name) {
  const auto found = std::find(kByNames.begin(), kByNames.end(), name);
  if (found == kByNames.end()) return std::nullopt;
  return static_cast<TimelineBy>(found - kByNames.begin());
}

double TimelineLine::most() const {
  double most = 0;
  for (const Value& value : values) most = std::max(most, value.bytes);
  return most;
}

double HeapTimeline::most() const {
  double most = 0;
  for (const TimelinePoint& point : points) most = std::max(most, point.total);
  return most;
}

const TimelineLine* HeapTimeline::line(std::string_view series) const {
  for (const TimelineLine& line : lines)
    if (line.series == series) return &line;
  return nullptr;
}

std::optional<HeapTimeline> make_heap_timeline(const Profile& profile, const TimelineOptions& options) {
  if (profile.heap.empty()) return std::nullopt;
  return Timeline(profile, options).make();
}

}  // namespace fathom::analysis
