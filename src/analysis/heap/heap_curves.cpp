#include "analysis/heap/heap_curves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap.h"
#include "analysis/core/heap_slices.h"
#include "analysis/core/rows_by_slice.h"
#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

using namespace model;

// Who asked for the memory of a site.
struct Key {
  std::string name, module;
  auto operator<=>(const Key&) const = default;
};

class Keys {
 public:
  Keys(const Profile& profile, TimelineBy by, const Selection& selection)
      : profile_(profile), by_(by), leaves_(profile, selection, true) {}

  Key of(const HeapSite& site) {
    switch (by_) {
      case TimelineBy::kThread:
        return {site.thread == kNoThread ? "[threads not separated]" : thread_name(profile_, site.thread),
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
class Curves {
 public:
  Curves(const Profile& profile, const TimelineOptions& options)
      : profile_(profile),
        heap_(profile.heap),
        options_(options),
        filter_(profile, options.selection),
        sums_(profile, options.selection) {}

  HeapCurves make() {
    choose_heaps();
    choose_groups();
    for (const std::uint32_t heap : out_.heaps) out_.curves.push_back(curve_of(heap));
    align_ends();
    return std::move(out_);
  }

 private:
  bool takes_process(ProcessId process) const {
    return !options_.selection.pid || profile_.processes[process.value].pid == *options_.selection.pid;
  }
  bool is_inside(const HeapSlice& slice) const { return takes_slice(filter_, profile_, slice); }

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
      out_.heaps.push_back(i);
    }
    for (const HeapRow& row : heap_.all_rows()) {
      if (!sums_.takes(row.site)) continue;
      const Heap& heap = heap_.heaps[heap_.sites[row.site.value].heap.value];
      any_rows = true;
      if (heap.mode == HeapMode::kSampled) out_.sampled = true;
    }
    if (!any_rows) out_.heaps.clear();
  }

  template <class Visit>
  void each_row(std::uint32_t slice, Visit visit) const {
    rows_.each(slice, [&](const HeapRow& row) {
      if (sums_.takes(row.site)) visit(row);
    });
  }

  // Area under the live bytes of each key inside of the window, as if they were straight between the ends of
  // slices. Sites of memory that the program maps have no key.
  std::vector<double> areas(std::size_t keys) const {
    std::vector<double> area(keys), live(keys), before(keys);
    std::vector<std::uint64_t> since(keys);
    for (const std::uint32_t h : out_.heaps) {
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
    Keys keys(profile_, options_.by, options_.selection);
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
    // An invisible curve needs no name. A single remaining one gets its own.
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

  // The composition of the heap's peak; empty where it is not known (a killed recorder).
  std::optional<HeapMoment> peak_of(std::uint32_t h) const {
    HeapMoment node;
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

  std::vector<HeapMoment> curve_of(std::uint32_t h) {
    const std::optional<HeapMoment> peak = peak_of(h);
    std::vector<HeapMoment> nodes;
    std::vector<double> live(out_.groups.size());
    double variance = 0;
    const auto now = [&](std::uint64_t time_ns) {
      HeapMoment node;
      node.time_ns = time_ns;
      node.groups = live;
      for (double& value : node.groups) value = std::max(0.0, value);  // estimates may leave a hair less
      node.variance = std::max(0.0, variance);
      return node;
    };
    for (const std::uint32_t s : slices_[h]) {
      const HeapSlice& slice = heap_.slices[s];
      const bool inside = is_inside(slice);
      HeapMoment start = now(slice.start_ns);
      each_row(s, [&](const HeapRow& row) {
        live[group_of(row.site)] += row.allocated.bytes - row.freed.bytes;
        variance += row.allocated_variance.bytes - row.freed_variance.bytes;
      });
      if (!inside) continue;
      HeapMoment end = now(slice.end_ns);
      if (nodes.empty()) nodes.push_back(start);
      end.most_since = std::max({total_of(start.groups), total_of(end.groups), slice.peak_bytes});
      if (peak && peak->time_ns > slice.start_ns && peak->time_ns < slice.end_ns) {
        end.most_since = std::max(end.most_since, total_of(peak->groups));
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
  void add_inner_peak(const HeapSlice& slice, const HeapMoment& start, const HeapMoment& end,
                      std::vector<HeapMoment>& nodes) const {
    if (slice.peak_ns <= slice.start_ns || slice.peak_ns >= slice.end_ns) return;
    const double part = static_cast<double>(slice.peak_ns - slice.start_ns) /
                        static_cast<double>(slice.end_ns - slice.start_ns);
    HeapMoment node = between(start, end, part);
    const double rest = slice.peak_bytes - total_of(node.groups);
    if (rest <= 0) return;
    const bool is_mapped = is_mapped_[slice.heap.value] != 0;
    node.time_ns = slice.peak_ns;
    node.groups[is_mapped ? mapped_ : passing_] += rest;
    node.composition = is_mapped;
    node.variance = std::max(start.variance, end.variance);
    node.most_since = slice.peak_bytes;
    nodes.push_back(std::move(node));
  }

  // Heaps of one process begin and end together: what one of them holds before its next slice it still holds.
  void align_ends() {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> ends;
    for (std::size_t i = 0; i < out_.curves.size(); ++i) {
      if (out_.curves[i].empty()) continue;
      auto& [first, last] =
          ends.try_emplace(heap_.heaps[out_.heaps[i]].process.value, UINT64_MAX, 0).first->second;
      first = std::min(first, out_.curves[i].front().time_ns);
      last = std::max(last, out_.curves[i].back().time_ns);
    }
    for (std::size_t i = 0; i < out_.curves.size(); ++i) {
      std::vector<HeapMoment>& curve = out_.curves[i];
      if (curve.empty()) continue;
      const auto [first, last] = ends.at(heap_.heaps[out_.heaps[i]].process.value);
      if (curve.front().time_ns > first) {
        HeapMoment node = curve.front();
        node.time_ns = first;
        curve.front().most_since = total_of(node.groups);
        curve.insert(curve.begin(), std::move(node));
      }
      if (curve.back().time_ns < last) {
        HeapMoment node = curve.back();
        node.time_ns = last;
        node.most_since = total_of(node.groups);
        curve.push_back(std::move(node));
      }
    }
  }

  const Profile& profile_;
  const HeapTables& heap_;
  const TimelineOptions& options_;
  Filter filter_;
  HeapSums sums_;
  HeapCurves out_;
  std::vector<char> is_mapped_;                     // by heap
  std::vector<std::vector<std::uint32_t>> slices_;  // by heap, in order of time
  RowsBySlice rows_{heap_};
  std::vector<std::uint32_t> key_of_site_, group_of_key_;
  std::size_t others_ = 0, passing_ = 0, mapped_ = 0;  // groups
};

}  // namespace

double total_of(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values) all += value;
  return all;
}

HeapMoment between(const HeapMoment& a, const HeapMoment& b, double part) {
  HeapMoment node;
  node.groups.resize(a.groups.size());
  for (std::size_t i = 0; i < node.groups.size(); ++i)
    node.groups[i] = a.groups[i] + (b.groups[i] - a.groups[i]) * part;
  node.variance = a.variance + (b.variance - a.variance) * part;
  node.composition = false;
  return node;
}

HeapCurves make_heap_curves(const Profile& profile, const TimelineOptions& options) {
  return Curves(profile, options).make();
}

}  // namespace fathom::analysis
