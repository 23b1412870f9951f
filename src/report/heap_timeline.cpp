#include "report/heap_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "report/call_tree.h"
#include "report/heap.h"
#include "report/words.h"

namespace fathom::report {
namespace {

using namespace profile;

constexpr std::array<std::string_view, 4> kByNames = {"function", "module", "thread", "allocator"};

double seconds_into(const Profile& profile, std::uint64_t time_ns) {
  const std::uint64_t start = profile.meta.start_ns;
  return time_ns >= start ? static_cast<double>(time_ns - start) * 1e-9
                          : -static_cast<double>(start - time_ns) * 1e-9;
}

// Who asked for the memory of a site.
struct Key {
  std::string name, module;
  auto operator<=>(const Key&) const = default;
};

class Keys {
 public:
  Keys(const Profile& profile, TimelineBy by) : profile_(profile), by_(by), leaves_(profile) {}

  Key of(const HeapSite& site) {
    switch (by_) {
      case TimelineBy::kThread:
        return {site.thread == kNoThread ? "[threads not told apart]" : thread_name(profile_, site.thread),
                ""};
      case TimelineBy::kAllocator:
        return {site.allocator.value == 0
                    ? "[unknown allocator]"
                    : std::string(profile_.strings[profile_.heap.allocators[site.allocator.value].label]),
                ""};
      case TimelineBy::kFunction:
      case TimelineBy::kModule:
        break;
    }
    const HeapLeaf leaf = leaves_.of(site.stack);
    if (leaf.stack.value == 0) return {"[no stack]", ""};
    const FrameId frame = profile_.stacks[leaf.stack.value].frame;
    std::string module(profile_.strings[profile_.modules[profile_.frames[frame.value].module.value].name]);
    if (by_ == TimelineBy::kModule) return {module.empty() ? "[no module]" : module, ""};
    return {frame_name(profile_, frame, leaf.skip), module};
  }

 private:
  const Profile& profile_;
  TimelineBy by_;
  HeapLeaves leaves_;
};

// What is known about one heap at one moment; between two of them all is a straight line.
struct Node {
  std::uint64_t time_ns = 0;
  std::vector<double> groups;
  double variance = 0;
  double most_since = 0;    // between the node before and this one, never more was live
  bool composition = true;  // exact; false: a straight line, and the rest is passing
};

class Timeline {
 public:
  Timeline(const Profile& profile, const TimelineOptions& options)
      : profile_(profile),
        heap_(profile.heap),
        options_(options),
        filter_(profile, options.selection),
        sums_(profile, options.selection) {}

  HeapTimeline make() {
    out_.by = options_.by;
    choose_heaps();
    sort_rows();
    choose_groups();
    for (const std::uint32_t heap : heaps_) curves_.push_back(curve_of(heap));
    align_ends();
    join();
    finish_groups();
    read_lines();
    set_axis();
    thin_out();
    write_notes();
    return std::move(out_);
  }

 private:
  bool takes_process(ProcessId process) const {
    return !options_.selection.pid || profile_.processes[process.value].pid == *options_.selection.pid;
  }
  bool is_inside(const HeapSlice& slice) const {
    return filter_.takes_time(slice.start_ns + (slice.end_ns - slice.start_ns) / 2);
  }

  void choose_heaps() {
    is_mapped_.resize(heap_.heaps.size());
    for (const HeapSite& site : heap_.sites)
      if (profile_.strings[heap_.allocators[site.allocator.value].label] == kMappedByProgram)
        is_mapped_[site.heap.value] = 1;
    slices_.resize(heap_.heaps.size());
    for (std::uint32_t i = 0; i < heap_.slices.size(); ++i) slices_[heap_.slices[i].heap.value].push_back(i);
    bool any_rows = false;
    for (std::uint32_t i = 0; i < heap_.heaps.size(); ++i) {
      if (!takes_process(heap_.heaps[i].process) || slices_[i].empty()) continue;
      heaps_.push_back(i);
    }
    for (const HeapRow& row : heap_.rows) {
      if (!sums_.takes(row.site)) continue;
      const Heap& heap = heap_.heaps[heap_.sites[row.site.value].heap.value];
      any_rows = true;
      if (heap.mode == HeapMode::kSampled) out_.sampled = true;
    }
    if (!any_rows) heaps_.clear();
  }

  // The rows of slice i are order_[first_[i]] to order_[first_[i + 1]].
  void sort_rows() {
    first_.assign(heap_.slices.size() + 1, 0);
    for (const HeapRow& row : heap_.rows) ++first_[row.slice.value + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    order_.resize(heap_.rows.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < heap_.rows.size(); ++i) order_[next[heap_.rows[i].slice.value]++] = i;
  }

  template <class Visit>
  void each_row(std::uint32_t slice, Visit visit) const {
    for (std::uint32_t i = first_[slice]; i < first_[slice + 1]; ++i) {
      const HeapRow& row = heap_.rows[order_[i]];
      if (sums_.takes(row.site)) visit(row);
    }
  }

  // Area under the live bytes of each key inside of the window, as if they were straight between the ends of
  // slices. Sites of memory that the program maps have no key.
  std::vector<double> areas(std::size_t keys) const {
    std::vector<double> area(keys), live(keys), before(keys);
    std::vector<std::uint64_t> since(keys);
    for (const std::uint32_t h : heaps_) {
      if (is_mapped_[h] != 0) continue;
      const auto& slices = slices_[h];
      std::uint64_t start = UINT64_MAX, end = 0;
      for (const std::uint32_t s : slices) {
        if (!is_inside(heap_.slices[s])) continue;
        start = std::min(start, heap_.slices[s].start_ns);
        end = heap_.slices[s].end_ns;
      }
      if (end <= start) continue;
      const auto length = [&](std::uint64_t from, std::uint64_t to) {
        return static_cast<double>(std::clamp(to, start, end) - std::clamp(from, start, end));
      };
      std::fill(live.begin(), live.end(), 0);
      std::fill(since.begin(), since.end(), start);
      std::vector<std::uint32_t> touched;
      std::vector<char> is_touched(keys);
      for (const std::uint32_t s : slices) {
        const HeapSlice& slice = heap_.slices[s];
        touched.clear();
        each_row(s, [&](const HeapRow& row) {
          const std::uint32_t key = key_of_site_[row.site.value];
          if (is_touched[key] == 0) {
            is_touched[key] = 1;
            touched.push_back(key);
            before[key] = live[key];
          }
          live[key] += row.allocated.bytes - row.freed.bytes;
        });
        for (const std::uint32_t key : touched) {
          is_touched[key] = 0;
          area[key] += before[key] * length(since[key], slice.start_ns) +
                       (before[key] + live[key]) / 2 * length(slice.start_ns, slice.end_ns);
          since[key] = slice.end_ns;
        }
      }
      for (std::size_t key = 0; key < keys; ++key) area[key] += live[key] * length(since[key], end);
    }
    return area;
  }

  void choose_groups() {
    Keys keys(profile_, options_.by);
    std::map<Key, std::uint32_t> numbers;
    key_of_site_.assign(heap_.sites.size(), 0);
    std::vector<double> at_peak;
    for (std::uint32_t i = 0; i < heap_.sites.size(); ++i) {
      const HeapSite& site = heap_.sites[i];
      if (!sums_.takes({i}) || is_mapped_[site.heap.value] != 0) continue;
      const auto number = numbers.try_emplace(keys.of(site), static_cast<std::uint32_t>(numbers.size()));
      key_of_site_[i] = number.first->second;
      at_peak.resize(numbers.size());
      at_peak[number.first->second] += sums_.peak().sites[i].bytes.value;
    }
    std::vector<double> area = areas(std::max<std::size_t>(numbers.size(), 1));
    double all_area = 0, all_peak = 0;
    for (double& value : area) all_area += value = std::max(0.0, value);
    for (const double value : at_peak) all_peak += value;

    // Largest share of the area or of the peak first; names decide where shares are equal.
    std::vector<std::tuple<double, Key, std::uint32_t>> ranked;
    for (const auto& [key, number] : numbers) {
      const double share =
          std::max(all_area > 0 ? area[number] / all_area : 0, all_peak > 0 ? at_peak[number] / all_peak : 0);
      if (share > 0) ranked.emplace_back(-share, key, number);
    }
    std::sort(ranked.begin(), ranked.end());
    // What nobody would see needs no name. One that is left over alone may as well have its own.
    constexpr double kLeastShare = 0.001;
    std::size_t named = 0;
    while (named < std::min(options_.groups, ranked.size()) && -std::get<0>(ranked[named]) >= kLeastShare)
      ++named;
    if (named + 1 == ranked.size()) ++named;
    for (std::size_t i = 0; i < named; ++i) {
      TimelineGroup group;
      group.name = std::get<1>(ranked[i]).name;
      group.module = std::get<1>(ranked[i]).module;
      out_.groups.push_back(std::move(group));
    }
    const auto add = [&](TimelineKind kind, std::string name, std::size_t count) {
      TimelineGroup group;
      group.kind = kind;
      group.name = std::move(name);
      group.keys = count;
      out_.groups.push_back(std::move(group));
      return out_.groups.size() - 1;
    };
    const std::size_t left = ranked.size() - named;
    others_ =
        add(TimelineKind::kOthers,
            "the other " + counted(left, to_string(options_.by), std::string(to_string(options_.by)) + "s"),
            left);
    passing_ = add(TimelineKind::kPassing, "passing, inside of a slice", 1);
    mapped_ = add(TimelineKind::kMapped, std::string(kMappedByProgram), 1);
    group_of_key_.assign(std::max<std::size_t>(numbers.size(), 1), static_cast<std::uint32_t>(others_));
    for (std::size_t i = 0; i < named; ++i)
      group_of_key_[std::get<2>(ranked[i])] = static_cast<std::uint32_t>(i);
  }

  std::uint32_t group_of(HeapSiteId site) const {
    return is_mapped_[heap_.sites[site.value].heap.value] != 0 ? static_cast<std::uint32_t>(mapped_)
                                                               : group_of_key_[key_of_site_[site.value]];
  }

  static double sum(const std::vector<double>& values) {
    double all = 0;
    for (const double value : values) all += value;
    return all;
  }

  // The composition of the heap's peak; empty where it is not known (a killed recorder).
  std::optional<Node> peak_of(std::uint32_t h) const {
    Node node;
    node.time_ns = heap_.heaps[h].peak_ns;
    node.groups.resize(out_.groups.size());
    bool known = false;
    for (const HeapSummary& row : heap_.summaries) {
      if (heap_.sites[row.site.value].heap.value != h || !sums_.takes(row.site)) continue;
      known = true;
      node.groups[group_of(row.site)] += row.peak.bytes;
      node.variance += row.peak_variance.bytes;
    }
    if (!known || heap_.heaps[h].peak_bytes <= 0) return std::nullopt;
    return node;
  }

  std::vector<Node> curve_of(std::uint32_t h) {
    const std::optional<Node> peak = peak_of(h);
    std::vector<Node> nodes;
    std::vector<double> live(out_.groups.size());
    double variance = 0;
    const auto now = [&](std::uint64_t time_ns) {
      Node node;
      node.time_ns = time_ns;
      node.groups = live;
      for (double& value : node.groups) value = std::max(0.0, value);  // estimates may leave a hair less
      node.variance = std::max(0.0, variance);
      return node;
    };
    for (const std::uint32_t s : slices_[h]) {
      const HeapSlice& slice = heap_.slices[s];
      const bool inside = is_inside(slice);
      Node start = now(slice.start_ns);
      each_row(s, [&](const HeapRow& row) {
        live[group_of(row.site)] += row.allocated.bytes - row.freed.bytes;
        variance += row.allocated_variance.bytes - row.freed_variance.bytes;
      });
      if (!inside) continue;
      Node end = now(slice.end_ns);
      if (nodes.empty()) nodes.push_back(start);
      end.most_since = std::max({sum(start.groups), sum(end.groups), slice.peak_bytes});
      if (peak && peak->time_ns > slice.start_ns && peak->time_ns < slice.end_ns) {
        end.most_since = std::max(end.most_since, sum(peak->groups));
        nodes.push_back(*peak);
        nodes.back().most_since = end.most_since;
      } else if (!options_.selection.thread) {
        add_inner_peak(slice, start, end, nodes);
      }
      nodes.push_back(std::move(end));
    }
    return nodes;
  }

  // How much was live is known for the whole heap only, not for some of its threads.
  void add_inner_peak(const HeapSlice& slice, const Node& start, const Node& end,
                      std::vector<Node>& nodes) const {
    if (slice.peak_ns <= slice.start_ns || slice.peak_ns >= slice.end_ns) return;
    const double part = static_cast<double>(slice.peak_ns - slice.start_ns) /
                        static_cast<double>(slice.end_ns - slice.start_ns);
    Node node = between(start, end, part);
    const double rest = slice.peak_bytes - sum(node.groups);
    if (rest <= 0) return;
    const bool is_mapped = is_mapped_[slice.heap.value] != 0;
    node.time_ns = slice.peak_ns;
    node.groups[is_mapped ? mapped_ : passing_] += rest;
    node.composition = is_mapped;
    node.variance = std::max(start.variance, end.variance);
    node.most_since = slice.peak_bytes;
    nodes.push_back(std::move(node));
  }

  static Node between(const Node& a, const Node& b, double part) {
    Node node;
    node.groups.resize(a.groups.size());
    for (std::size_t i = 0; i < node.groups.size(); ++i)
      node.groups[i] = a.groups[i] + (b.groups[i] - a.groups[i]) * part;
    node.variance = a.variance + (b.variance - a.variance) * part;
    node.composition = false;
    return node;
  }

  // Heaps of one process begin and end together: what one of them holds before its next slice it still holds.
  void align_ends() {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> ends;
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      if (curves_[i].empty()) continue;
      auto& [first, last] =
          ends.try_emplace(heap_.heaps[heaps_[i]].process.value, UINT64_MAX, 0).first->second;
      first = std::min(first, curves_[i].front().time_ns);
      last = std::max(last, curves_[i].back().time_ns);
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      std::vector<Node>& curve = curves_[i];
      if (curve.empty()) continue;
      const auto [first, last] = ends.at(heap_.heaps[heaps_[i]].process.value);
      if (curve.front().time_ns > first) {
        Node node = curve.front();
        node.time_ns = first;
        curve.front().most_since = sum(node.groups);
        curve.insert(curve.begin(), std::move(node));
      }
      if (curve.back().time_ns < last) {
        Node node = curve.back();
        node.time_ns = last;
        node.most_since = sum(node.groups);
        curve.push_back(std::move(node));
      }
    }
  }

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
      for (const Node& node : curve) moments.push_back({node.time_ns, false});
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
        const std::vector<Node>& curve = curves_[c];
        std::size_t& i = at[c];
        if (curve.empty() || moment.time_ns < curve.front().time_ns) continue;
        while (i + 1 < curve.size() && curve[i + 1].time_ns <= moment.time_ns) ++i;
        const bool is_last = i + 1 == curve.size();
        if (is_last && (moment.time_ns > curve[i].time_ns || moment.after)) continue;
        const bool exact = moment.time_ns == curve[i].time_ns;
        const Node here = exact ? curve[i]
                                : between(curve[i], curve[i + 1],
                                          static_cast<double>(moment.time_ns - curve[i].time_ns) /
                                              static_cast<double>(curve[i + 1].time_ns - curve[i].time_ns));
        for (std::size_t g = 0; g < point.groups.size(); ++g) point.groups[g] += here.groups[g];
        variance += here.variance;
        composition = composition && (here.composition || sum(here.groups) <= 0);
        if (!is_last) most_after += curve[i + 1].most_since;
      }
      point.total = sum(point.groups);
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
    if (out_.sampled) out_.peak.error = HeapAmount{0, variance_at_peak}.error();
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

  // The sum of the series of that name of all traced processes.
  std::vector<TimelineLine::Value> values_of(std::string_view name) const {
    struct Step {
      std::uint64_t time_ns;
      std::size_t series;
      double bytes;
    };
    std::vector<Step> steps;
    for (std::size_t i = 0; i < profile_.series.size(); ++i) {
      const Series& series = profile_.series[i];
      if (profile_.strings[series.name] != name || profile_.strings[series.unit] != "bytes") continue;
      const bool traced = std::any_of(heaps_.begin(), heaps_.end(), [&](std::uint32_t h) {
        return profile_.processes[heap_.heaps[h].process.value].pid == series.pid;
      });
      if (!traced) continue;
      for (const Point& point : series.points) {
        if (!filter_.takes_time(point.time_ns) || !std::isfinite(point.value)) continue;
        steps.push_back({point.time_ns, i, std::max(0.0, point.value)});
      }
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.time_ns < b.time_ns; });
    std::map<std::size_t, double> latest;
    std::vector<TimelineLine::Value> values;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      latest[steps[i].series] = steps[i].bytes;
      if (i + 1 < steps.size() && steps[i + 1].time_ns == steps[i].time_ns) continue;
      double all = 0;
      for (const auto& [series, bytes] : latest) all += bytes;
      values.push_back({seconds_into(profile_, steps[i].time_ns), all});
    }
    return values;
  }

  void read_lines() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kLines = {
        {{"memory.rss_anon", "resident, anonymous"},
         {"memory.rss_file", "resident, of files"},
         {"memory.rss_shmem", "resident, shared"},
         {"memory.stacks", "stacks of threads"},
         {"memory.swap", "swapped out"},
         {"memory.page_tables", "page tables"}}};
    for (const auto& [name, label] : kLines) {
      TimelineLine line{std::string(name), std::string(label), values_of(name)};
      if (line.most() > 0) out_.lines.push_back(std::move(line));
    }
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
    for (const std::uint32_t h : heaps_) {
      const double start = seconds_into(profile_, heap_.heaps[h].start_ns);
      out_.tracing_s = h == heaps_.front() ? start : std::min(out_.tracing_s, start);
      out_.from_start = out_.from_start && heap_.heaps[h].from_start;
      earlier_bytes_ = std::max(earlier_bytes_, heap_.heaps[h].earlier_rss_bytes);
    }
  }

  // Of each column the largest and the last.
  template <class Row, class Value>
  void thin_out(std::vector<Row>& rows, Value value) const {
    if (options_.columns == 0 || rows.size() <= 2 * options_.columns) return;
    const double width = (out_.to_s - out_.from_s) / static_cast<double>(options_.columns);
    const auto column = [&](const Row& row) {
      return width > 0 ? static_cast<std::int64_t>((row.time_s - out_.from_s) / width) : 0;
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

  void write_notes() {
    const auto add = [&](std::string text) { out_.notes.push_back(std::move(text)); };
    const TimelinePeak& peak = out_.peak;
    if (out_.points.empty() || peak.bytes <= 0) {
      add("Nothing was live in this time.");
      return;
    }
    std::string text = fmt::format("Most was live {} after the start: {}",
                                   seconds(std::max(0.0, peak.time_s)), bytes(peak.bytes));
    if (peak.error > 0) text += fmt::format(" ±{}", bytes(peak.error));
    if (peak.to_slice_end) {
      text += ", to the end of a slice: the moments between are known of all threads together only.";
    } else if (peak.over > 0) {
      text += fmt::format(
          ". For moments between the ends of slices the sum of several heaps is not known exactly: it was at "
          "most {} more.",
          bytes(peak.over));
    } else {
      text += peak.error > 0 ? "; ± is the 95 % interval." : ", exact to the event.";
    }
    add(std::move(text));
    for (const TimelineGroup& group : out_.groups)
      if (group.kind == TimelineKind::kPassing)
        add("\"Passing\" came and went between two moments at which it is known whose bytes are live: how "
            "much it "
            "was is known, whose it was is not.");
    for (const TimelineGroup& group : out_.groups)
      if (group.kind == TimelineKind::kMapped)
        add("Memory that the program mapped counts from its mapping on; pages that it never touched are not "
            "resident.");
    if (!out_.from_start) {
      std::string earlier = "Blocks from before the tracing are not in it";
      if (earlier_bytes_ != 0)
        earlier += fmt::format(": {} of anonymous memory were resident when it began",
                               bytes(static_cast<double>(earlier_bytes_)));
      add(earlier + ".");
    }
  }

  const Profile& profile_;
  const HeapTables& heap_;
  const TimelineOptions& options_;
  Filter filter_;
  HeapSums sums_;
  HeapTimeline out_;
  std::vector<std::uint32_t> heaps_;                // that are selected
  std::vector<char> is_mapped_;                     // by heap
  std::vector<std::vector<std::uint32_t>> slices_;  // by heap, in order of time
  std::vector<std::uint32_t> first_, order_;        // rows by slice
  std::vector<std::uint32_t> key_of_site_, group_of_key_;
  std::size_t others_ = 0, passing_ = 0, mapped_ = 0;  // groups
  std::vector<std::vector<Node>> curves_;              // by place in heaps_
  TimelinePoint peak_point_;
  std::uint64_t earlier_bytes_ = 0;
};

}  // namespace

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

}  // namespace fathom::report
