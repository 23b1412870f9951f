#include "analysis/heap/heap_history.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap_slices.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::size_t kMostCells = 240;
constexpr std::size_t kMostByOneMeasure = 30;  // functions that are looked at closely
constexpr std::size_t kNoCell = SIZE_MAX;

double seconds_since_start(const Profile& profile, std::uint64_t time_ns) {
  return (static_cast<double>(time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
}

void add(HeapSum& sum, const HeapSum& more, double part = 1) {
  sum.blocks += part * more.blocks;
  sum.bytes += part * more.bytes;
}

// The slices of one process and the cells of each, by HeapSliceId. Longer slices than those of the clock are
// spread over theirs, as it is not known when in that time something happened.
struct Clock {
  std::vector<std::size_t> first, last;  // kNoCell outside of the window or of another process
};

class Histories {
 public:
  Histories(const Profile& profile, const Selection& selection, const HeapSums& sums)
      : profile_(profile),
        heap_(profile.heap),
        filter_(profile, selection),
        sums_(sums),
        leaves_(profile, selection, true) {}

  std::vector<HeapHistory> all() {
    std::set<std::uint32_t> processes;
    for (const Heap& heap : heap_.heaps) processes.insert(heap.process.value);
    std::vector<HeapHistory> histories;
    for (const std::uint32_t process : processes) {
      HeapHistory history = make({process});
      if (!history.ends_s.empty() && !history.whole.sites.empty()) histories.push_back(std::move(history));
    }
    return histories;
  }

 private:
  bool is_inside(const HeapSlice& slice) const { return takes_slice(filter_, profile_, slice); }

  // The heap of the process with most slices is the clock.
  Clock make_clock(HeapHistory& history) {
    std::vector<std::size_t> counts(heap_.heaps.size());
    std::vector<char> inside(heap_.slices.size());
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const HeapSlice& slice = heap_.slices[i];
      inside[i] = heap_.heaps[slice.heap.value].process == history.process && is_inside(slice) ? 1 : 0;
      counts[slice.heap.value] += static_cast<std::size_t>(inside[i]);
    }
    const auto leading =
        static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    std::vector<std::uint64_t> ends;
    std::uint64_t start_ns = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i] == 0 || heap_.slices[i].heap.value != leading) continue;
      if (ends.empty() || heap_.slices[i].start_ns < start_ns) start_ns = heap_.slices[i].start_ns;
      ends.push_back(heap_.slices[i].end_ns);
    }
    Clock clock{std::vector<std::size_t>(heap_.slices.size(), kNoCell),
                std::vector<std::size_t>(heap_.slices.size(), kNoCell)};
    if (ends.empty()) return clock;
    std::sort(ends.begin(), ends.end());  // damaged files
    if (ends.size() > kMostCells) {
      const std::uint64_t length = (ends.back() - start_ns) / kMostCells + 1;
      std::vector<std::uint64_t> fewer;
      for (std::size_t i = 0; i < ends.size(); ++i)
        if (i + 1 == ends.size() || (ends[i] - start_ns) / length != (ends[i + 1] - start_ns) / length)
          fewer.push_back(ends[i]);
      ends = std::move(fewer);
    }
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i] == 0) continue;
      const auto last = std::lower_bound(ends.begin(), ends.end(), heap_.slices[i].end_ns);
      const auto first = std::upper_bound(ends.begin(), ends.end(), heap_.slices[i].start_ns);
      clock.last[i] = std::min(ends.size() - 1, static_cast<std::size_t>(last - ends.begin()));
      clock.first[i] = std::min(clock.last[i], static_cast<std::size_t>(first - ends.begin()));
    }
    history.start_s = seconds_since_start(profile_, start_ns);
    for (const std::uint64_t end : ends) history.ends_s.push_back(seconds_since_start(profile_, end));
    describe(history, leading);
    return clock;
  }

  void describe(HeapHistory& history, std::size_t leading) {
    const Heap& heap = heap_.heaps[leading];
    const Process& process = profile_.processes[history.process.value];
    history.from_start = heap.from_start;
    for (const Heap& other : heap_.heaps)
      if (other.process == history.process && other.mode == HeapMode::kSampled) history.sampled = true;
    const double last = history.ends_s.back();
    history.from_zero = history.start_s <= seconds_since_start(profile_, heap.start_ns) + 1e-3;
    history.to_end = last >= seconds_since_start(profile_, heap.end_ns) - 1e-3;
    history.ended = history.to_end && process.end_ns != 0;
    history.end_of_work = history.ends_s.size();
    if (!history.ended) return;
    const double from = last - 0.02 * history.seconds();
    history.end_of_work = history.ends_s.size() - 1;
    while (history.end_of_work > 1 && history.ends_s[history.end_of_work - 1] > from + 1e-9)
      --history.end_of_work;
  }

  HeapHistory make(ProcessId process) {
    HeapHistory history;
    history.process = process;
    const Clock clock = make_clock(history);
    if (history.ends_s.empty()) return history;
    std::vector<HeapSiteId> sites;
    for (std::uint32_t i = 0; i < heap_.sites.size(); ++i) {
      const HeapSiteSums& sum = sums_.sites()[i];
      if (heap_.heaps[heap_.sites[i].heap.value].process == process && sums_.takes({i}) &&
          (sum.allocated.blocks.value != 0 || sum.before.blocks.value != 0))
        sites.push_back({i});
    }
    Groups whole = group(sites, [](HeapSiteId) { return 0; });
    if (sites.empty()) return history;
    Groups functions = group(sites, [&](HeapSiteId site) {
      return function_that_asked(profile_, leaves_, heap_.sites[site.value].stack);
    });
    history.function_count = functions.tracks.size();
    Groups stacks =
        group(sites, [&](HeapSiteId site) { return leaves_.of(heap_.sites[site.value].stack).stack; });
    history.stack_count = stacks.tracks.size();
    history.site_growth.resize(heap_.sites.size());
    std::vector<double> shut_down(heap_.sites.size());
    for (const HeapRow& row : heap_.all_rows()) {
      const std::size_t last = clock.last[row.slice.value];
      if (last != kNoCell)
        (last >= history.end_of_work ? shut_down : history.site_growth)[row.site.value] +=
            row.allocated.bytes - row.freed.bytes;
    }
    choose(functions, history.site_growth, shut_down, true);
    choose(stacks, history.site_growth, shut_down, false);
    whole.chosen.assign(1, 1);
    for (Groups* groups : {&whole, &functions, &stacks}) fill(*groups, clock, history.ends_s.size());
    history.whole = std::move(whole.tracks.front());
    for (Groups* groups : {&functions, &stacks})
      for (std::size_t i = 0; i < groups->tracks.size(); ++i)
        if (HeapTrack& track = groups->tracks[i]; groups->chosen[i] != 0)
          std::tie(track.name, track.module) =
              function_that_asked(profile_, leaves_, heap_.sites[track.sites.front().value].stack);
    for (std::size_t i = 0; i < functions.tracks.size(); ++i)
      if (functions.chosen[i] != 0) history.functions.push_back(std::move(functions.tracks[i]));
    for (std::size_t i = 0; i < stacks.tracks.size(); ++i)
      if (stacks.chosen[i] != 0) history.stacks.push_back(std::move(stacks.tracks[i]));
    return history;
  }

  struct Groups {
    std::vector<HeapTrack> tracks;
    std::vector<std::size_t> of_site;  // by HeapSiteId
    std::vector<char> chosen;          // by track: worth its cells
  };

  template <class KeyOf>
  Groups group(const std::vector<HeapSiteId>& sites, KeyOf key_of) {
    Groups groups;
    groups.of_site.assign(heap_.sites.size(), SIZE_MAX);
    std::map<decltype(key_of(HeapSiteId{})), std::size_t> rows;
    for (const HeapSiteId site : sites) {
      const std::size_t row = rows.try_emplace(key_of(site), groups.tracks.size()).first->second;
      if (row == groups.tracks.size()) groups.tracks.emplace_back();
      groups.of_site[site.value] = row;
      const HeapSiteSums& sum = sums_.sites()[site.value];
      HeapTrack& track = groups.tracks[row];
      track.sites.push_back(site);
      track.before.add(sum.before);
      add(track.temporary, sum.temporary);
      add(track.short_lived, sum.short_lived);
    }
    return groups;
  }

  void fill(Groups& groups, const Clock& clock, std::size_t cells) {
    for (std::size_t i = 0; i < groups.tracks.size(); ++i)
      if (groups.chosen[i] != 0) groups.tracks[i].cells.resize(cells);
    for (const HeapRow& row : heap_.all_rows()) {
      const std::size_t last = clock.last[row.slice.value], track = groups.of_site[row.site.value];
      if (last == kNoCell || track == SIZE_MAX || groups.chosen[track] == 0) continue;
      const std::size_t first = clock.first[row.slice.value];
      const double part = 1 / static_cast<double>(last - first + 1);
      const double change =
          std::max(0.0, row.allocated_variance.bytes + row.freed_variance.bytes - 2 * row.churn_variance);
      for (std::size_t cell = first; cell <= last; ++cell) {
        HeapCell& to = groups.tracks[track].cells[cell];
        add(to.allocated, row.allocated, part);
        add(to.freed, row.freed, part);
        to.change_variance += part * change;
        to.live_variance += part * (row.allocated_variance.bytes - row.freed_variance.bytes);
      }
    }
  }

  // The first of each measure: growth, live, what was freed while shutting down; and, of functions, the peak,
  // calls and bytes.
  void choose(Groups& groups, const std::vector<double>& growth, const std::vector<double>& shut_down,
              bool are_functions) {
    constexpr std::size_t kMeasures = 6;
    std::vector<std::array<double, kMeasures>> values(groups.tracks.size());
    for (std::size_t i = 0; i < groups.tracks.size(); ++i) {
      for (const HeapSiteId site : groups.tracks[i].sites) {
        const HeapSiteSums& sum = sums_.sites()[site.value];
        values[i][0] += growth[site.value];
        values[i][1] += sum.live.bytes.value - shut_down[site.value];
        values[i][2] -= shut_down[site.value];
        values[i][3] += sums_.peak().sites[site.value].bytes.value;
        values[i][4] += sum.allocated.blocks.value;
        values[i][5] += sum.allocated.bytes.value;
      }
    }
    groups.chosen.assign(groups.tracks.size(), 0);
    std::vector<std::size_t> order(groups.tracks.size());
    const std::size_t most = std::min(order.size(), kMostByOneMeasure);
    for (std::size_t measure = 0; measure < (are_functions ? kMeasures : 1); ++measure) {
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::partial_sort(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
          [&](std::size_t a, std::size_t b) {
            return values[a][measure] != values[b][measure] ? values[a][measure] > values[b][measure] : a < b;
          });
      for (std::size_t i = 0; i < most; ++i)
        if (values[order[i]][measure] > 0) groups.chosen[order[i]] = 1;
    }
  }

  const Profile& profile_;
  const HeapTables& heap_;
  const Filter filter_;
  const HeapSums& sums_;
  HeapLeaves leaves_;
};

}  // namespace

HeapCell HeapTrack::sum(std::size_t from, std::size_t to) const {
  HeapCell all;
  for (std::size_t i = from; i < std::min(to, cells.size()); ++i) {
    add(all.allocated, cells[i].allocated);
    add(all.freed, cells[i].freed);
    all.change_variance += cells[i].change_variance;
  }
  return all;
}

HeapSum HeapTrack::live_before(std::size_t cell) const {
  const HeapCell all = sum(0, cell);
  return {std::max(0.0, before.blocks.value + all.allocated.blocks - all.freed.blocks),
          std::max(0.0, before.bytes.value + all.allocated.bytes - all.freed.bytes)};
}

std::vector<TrendPoint> HeapHistory::live(const HeapTrack& track, std::size_t to) const {
  std::vector<TrendPoint> points;
  double live = track.before.bytes.value, variance = track.before.bytes.variance;
  for (std::size_t i = 0; i < std::min(to, track.cells.size()); ++i) {
    live += track.cells[i].allocated.bytes - track.cells[i].freed.bytes;
    variance = std::max(0.0, variance + track.cells[i].live_variance);
    points.push_back({ends_s[i], std::max(0.0, live), track.cells[i].change_variance, variance});
  }
  return points;
}

std::vector<HeapHistory> heap_histories(const Profile& profile, const Selection& selection,
                                        const HeapSums& sums) {
  return Histories(profile, selection, sums).all();
}

std::pair<std::string, std::string> function_that_asked(const Profile& profile, HeapLeaves& leaves,
                                                        StackId stack, const ShownCalls* shown) {
  const HeapLeaf leaf = leaves.of(stack);
  const ShownCalls all(profile, nullptr);
  std::pair<std::string, std::string> asked{"[no stack]", ""};
  (shown != nullptr ? shown : &all)->visit(leaf.stack, leaf.skip, [&](FrameId frame, std::uint32_t line) {
    const Module& module = profile.modules[profile.frames[frame.value].module.value];
    asked = {frame_name(profile, frame, line), std::string(profile.strings[module.name])};
    return false;
  });
  return asked;
}

std::vector<std::string> path_to_heap(const Profile& profile, HeapLeaves& leaves, StackId stack,
                                      std::size_t most) {
  const HeapLeaf leaf = leaves.of(stack);
  std::vector<std::string> names;
  std::uint32_t line = leaf.skip;
  for (StackId at = leaf.stack; at.value != 0 && names.size() < most; at = profile.stacks[at.value].parent) {
    const FrameId frame = profile.stacks[at.value].frame;
    const std::uint32_t lines = std::max(1u, profile.frames[frame.value].line_count);
    for (; line < lines && names.size() < most; ++line) names.push_back(frame_name(profile, frame, line));
    line = 0;
  }
  return names;
}

}  // namespace fathom::analysis
