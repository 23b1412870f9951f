#include "report/heap_history.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "report/call_tree.h"

namespace fathom::report {
namespace {

using namespace profile;

constexpr std::size_t kMostCells = 240;
constexpr std::size_t kMostByOneMeasure = 30;  // functions that are looked at closely
constexpr std::size_t kNoCell = SIZE_MAX;

double seconds_into(const Profile& profile, std::uint64_t time_ns) {
  return (static_cast<double>(time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
}

void add(HeapSum& sum, const HeapSum& more) {
  sum.blocks += more.blocks;
  sum.bytes += more.bytes;
}

// The slices of one process and the cell of each.
struct Clock {
  std::vector<std::size_t> cells;  // by HeapSliceId; kNoCell outside of the window or of another process
};

class Histories {
 public:
  Histories(const Profile& profile, const Selection& selection, const HeapSums& sums)
      : profile_(profile), heap_(profile.heap), filter_(profile, selection), sums_(sums), leaves_(profile) {}

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
  bool is_inside(const HeapSlice& slice) const {
    return filter_.takes_time(slice.start_ns + (slice.end_ns - slice.start_ns) / 2);
  }

  // The heap of the process with most slices is the clock; slices of its other heaps go where they end.
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
      if (ends.empty()) start_ns = heap_.slices[i].start_ns;
      ends.push_back(heap_.slices[i].end_ns);
    }
    Clock clock{std::vector<std::size_t>(heap_.slices.size(), kNoCell)};
    if (ends.empty()) return clock;
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
      const auto cell = std::lower_bound(ends.begin(), ends.end(), heap_.slices[i].end_ns);
      clock.cells[i] = std::min(ends.size() - 1, static_cast<std::size_t>(cell - ends.begin()));
    }
    history.start_s = seconds_into(profile_, start_ns);
    for (const std::uint64_t end : ends) history.ends_s.push_back(seconds_into(profile_, end));
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
    history.from_zero = history.start_s <= seconds_into(profile_, heap.start_ns) + 1e-3;
    history.to_end = last >= seconds_into(profile_, heap.end_ns) - 1e-3;
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
    std::map<std::pair<std::string, std::string>, std::size_t> rows;
    std::vector<HeapTrack> tracks;
    constexpr std::size_t kNoTrack = SIZE_MAX;
    std::vector<std::size_t> track_of(heap_.sites.size(), kNoTrack);
    for (std::uint32_t i = 0; i < heap_.sites.size(); ++i) {
      const HeapSite& site = heap_.sites[i];
      const HeapSiteSums& sum = sums_.sites()[i];
      if (heap_.heaps[site.heap.value].process != process || !sums_.takes({i}) ||
          (sum.allocated.blocks.value == 0 && sum.before.blocks.value == 0))
        continue;
      auto name = function_that_asked(profile_, leaves_, site.stack);
      const auto [row, is_new] = rows.try_emplace(std::move(name), tracks.size());
      if (is_new) {
        tracks.emplace_back();
        tracks.back().name = row->first.first;
        tracks.back().module = row->first.second;
      }
      track_of[i] = row->second;
      for (HeapTrack* track : {&tracks[row->second], &history.whole}) {
        track->sites.push_back({i});
        track->before.add(sum.before);
        add(track->temporary, sum.temporary);
        add(track->brief, sum.brief);
      }
    }
    history.function_count = tracks.size();
    std::vector<double> longest(heap_.sites.size());
    for (const HeapSummary& row : heap_.summaries)
      longest[row.site.value] = static_cast<double>(row.longest_ns) * 1e-9;
    std::vector<double> shut_down(tracks.size());
    for (const HeapRow& row : heap_.rows) {
      const std::size_t cell = clock.cells[row.slice.value], track = track_of[row.site.value];
      if (cell != kNoCell && track != kNoTrack && cell >= history.end_of_work)
        shut_down[track] += row.freed.bytes - row.allocated.bytes;
    }
    const std::vector<char> chosen = choose(tracks, shut_down);
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      if (chosen[i] != 0) tracks[i].cells.resize(history.ends_s.size());
      for (const HeapSiteId site : tracks[i].sites)
        tracks[i].longest_s = std::max(tracks[i].longest_s, longest[site.value]);
      history.whole.longest_s = std::max(history.whole.longest_s, tracks[i].longest_s);
    }
    history.whole.cells.resize(history.ends_s.size());
    for (const HeapRow& row : heap_.rows) {
      const std::size_t cell = clock.cells[row.slice.value], track = track_of[row.site.value];
      if (cell == kNoCell || track == kNoTrack) continue;
      const double variance =
          std::max(0.0, row.allocated_variance.bytes + row.freed_variance.bytes - 2 * row.churn_variance);
      for (HeapTrack* to : {&tracks[track], &history.whole}) {
        if (to->cells.empty()) continue;
        add(to->cells[cell].allocated, row.allocated);
        add(to->cells[cell].freed, row.freed);
        to->cells[cell].change_variance += variance;
      }
    }
    for (std::size_t i = 0; i < tracks.size(); ++i)
      if (chosen[i] != 0) history.functions.push_back(std::move(tracks[i]));
    return history;
  }

  // The first of each measure: by growth, live, calls, bytes, the peak, and what was freed while shutting
  // down.
  std::vector<char> choose(const std::vector<HeapTrack>& tracks, const std::vector<double>& shut_down) {
    std::vector<std::array<double, 6>> values(tracks.size());
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      for (const HeapSiteId site : tracks[i].sites) {
        const HeapSiteSums& sum = sums_.sites()[site.value];
        values[i][0] += sum.growth.bytes.value;
        values[i][1] += sum.live.bytes.value;
        values[i][2] += sum.allocated.blocks.value;
        values[i][3] += sum.allocated.bytes.value;
        values[i][5] += sums_.peak().sites[site.value].bytes.value;
      }
      values[i][4] = shut_down[i];
      values[i][0] += shut_down[i];  // what it had grown by before
      values[i][1] += shut_down[i];
    }
    std::vector<char> chosen(tracks.size());
    std::vector<std::size_t> order(tracks.size());
    for (std::size_t measure = 0; measure < 6; ++measure) {
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      const std::size_t most = std::min(order.size(), kMostByOneMeasure);
      std::partial_sort(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
          [&](std::size_t a, std::size_t b) {
            return values[a][measure] != values[b][measure] ? values[a][measure] > values[b][measure] : a < b;
          });
      for (std::size_t i = 0; i < most; ++i)
        if (values[order[i]][measure] > 0) chosen[order[i]] = 1;
    }
    return chosen;
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
  double live = track.before.bytes.value;
  for (std::size_t i = 0; i < std::min(to, track.cells.size()); ++i) {
    live += track.cells[i].allocated.bytes - track.cells[i].freed.bytes;
    points.push_back({ends_s[i], std::max(0.0, live), track.cells[i].change_variance});
  }
  return points;
}

std::vector<HeapHistory> heap_histories(const Profile& profile, const Selection& selection,
                                        const HeapSums& sums) {
  return Histories(profile, selection, sums).all();
}

std::pair<std::string, std::string> function_that_asked(const Profile& profile, HeapLeaves& leaves,
                                                        StackId stack) {
  const HeapLeaf leaf = leaves.of(stack);
  if (leaf.stack.value == 0) return {"[no stack]", ""};
  const FrameId frame = profile.stacks[leaf.stack.value].frame;
  const Module& module = profile.modules[profile.frames[frame.value].module.value];
  return {frame_name(profile, frame, leaf.skip), std::string(profile.strings[module.name])};
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

}  // namespace fathom::report
