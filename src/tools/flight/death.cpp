#include "tools/flight/death.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "analysis/core/ending.h"
#include "analysis/heap/heap_groups.h"
#include "analysis/memory/growth.h"
#include "tools/flight/kernel_evidence.h"

namespace fathom::flight {
namespace {

using analysis::TimedValue;

constexpr double kLongestWindow_s = 60;
constexpr std::string_view kLimitCause = "limit ";
constexpr std::size_t kMostHolders = 20, kMostFrames = 64, kMostMarks = 64;

std::string_view fact_of(const model::Profile& profile, const char* key) {
  const auto fact = profile.meta.facts.find(key);
  return fact == profile.meta.facts.end() ? std::string_view() : std::string_view(fact->second);
}

std::vector<std::string> lines_of(std::string_view text, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// A number may have been used before.
bool is_same(const model::Process& one, const model::Process& other) {
  return one.pid == other.pid && one.start_ns == other.start_ns;
}

// Seconds from the start of the recording to when the process was gone.
double end_of(const model::Profile& profile, const model::Process& dead) {
  const std::uint64_t start = profile.meta.start_ns;
  if (dead.end_ns <= start || dead.end_ns > profile.meta.end_ns) return profile.duration_s();
  return static_cast<double>(dead.end_ns - start) * 1e-9;
}

// Of one process and name; seconds from the start of the recording. Values that make no sense are left out.
std::vector<TimedValue> series_of(const model::Profile& profile, const model::Process& dead,
                                  std::string_view name) {
  std::vector<TimedValue> values;
  for (const model::Series& series : profile.series) {
    if (series.pid != dead.pid || profile.strings[series.name] != name) continue;
    for (const model::Point& point : series.points) {
      if (point.time_ns < dead.start_ns) continue;
      const double at =
          (static_cast<double>(point.time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
      if (std::isfinite(point.value) && (values.empty() || at > values.back().time_s))
        values.push_back({at, point.value});
    }
  }
  return values;
}

double value_at(std::span<const TimedValue> values, double time_s) {
  double value = values.empty() ? 0 : values.front().value;
  for (const TimedValue& each : values) {
    if (each.time_s > time_s + 1e-9) break;
    value = each.value;
  }
  return value;
}

// Slices of the heap are long where the recording is: between their ends it is taken to have gone straight.
double on_the_line(std::span<const TimedValue> values, double time_s) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    const TimedValue &left = values[i - 1], &right = values[i];
    if (time_s > right.time_s) continue;
    const double width = right.time_s - left.time_s;
    if (time_s <= left.time_s || width <= 0) return left.value;
    return left.value + (right.value - left.value) * (time_s - left.time_s) / width;
  }
  return values.empty() ? 0 : values.back().value;
}

Change change_of(std::span<const TimedValue> values, double from_s, double to_s) {
  if (values.empty()) return {};
  const double end = value_at(values, to_s);
  return {end - value_at(values, from_s), end};
}

// Killed by the kernel a process falls apart for a tenth of a second: what it consisted of is where it was largest.
double time_of_largest(std::span<const TimedValue> values, double within_s) {
  if (values.empty()) return 0;
  double time = values.back().time_s, largest = values.back().value;
  for (auto at = values.rbegin(); at != values.rend() && at->time_s >= values.back().time_s - within_s; ++at)
    if (at->value > largest) {
      largest = at->value;
      time = at->time_s;
    }
  return time;
}

// Where it began to grow, at most a minute before the end: a flat time before says nothing of what followed.
double start_of_growth(std::span<const TimedValue> values, double end_s) {
  double least = value_at(values, end_s), most = least;
  for (const TimedValue& each : values)
    if (each.time_s >= end_s - kLongestWindow_s && each.time_s <= end_s) least = std::min(least, each.value);
  double start = std::max(0.0, end_s - kLongestWindow_s);
  if (values.empty()) return start;
  start = std::max(start, values.front().time_s);
  for (const TimedValue& each : values)
    if (each.time_s >= start && each.time_s < end_s && each.value <= least + 0.05 * (most - least))
      start = each.time_s;
  return start;
}

struct Composed {
  double at_s = 0;
  std::uint64_t rss = 0;
  std::vector<model::MemoryRange> rows;
};

std::vector<Composed> compositions_of(const model::Profile& profile, const model::Process& dead) {
  std::map<std::uint64_t, Composed> by_time;
  for (const model::MemoryRange& range : profile.memory_ranges) {
    if (!is_same(profile.processes[range.process.value], dead)) continue;
    Composed& composed = by_time[range.time_ns];
    composed.rss += std::min(range.rss_bytes, std::uint64_t{1} << 50);
    composed.rows.push_back(range);
  }
  std::vector<Composed> all;
  for (auto& [time, composed] : by_time) {
    composed.at_s = (static_cast<double>(time) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
    all.push_back(std::move(composed));
  }
  return all;
}

double slack_of(const Composed& composed) {
  double sum = 0;
  for (const model::MemoryRange& row : composed.rows)
    if (row.kind == model::MemoryKind::kAllocator)
      sum += std::max(0.0, static_cast<double>(row.rss_bytes) - row.live_resident_bytes);
  return sum;
}
double mapped_of(const Composed& composed) {
  double sum = 0;
  for (const model::MemoryRange& row : composed.rows)
    if (row.kind == model::MemoryKind::kMapped) sum += static_cast<double>(row.rss_bytes);
  return sum;
}
double huge_of(const Composed& composed) {
  double sum = 0;
  for (const model::MemoryRange& row : composed.rows) sum += static_cast<double>(row.huge_bytes);
  return sum;
}

// The parts of anonymous memory that mapping reads distinguish.
void take_compositions(const std::vector<Composed>& all, double from_s, Death& death) {
  const Composed *first = nullptr, *last = nullptr;
  std::uint64_t most = 0;
  for (const Composed& each : all) most = std::max(most, each.rss);
  for (const Composed& each : all) {
    if (first == nullptr || each.at_s <= from_s) first = &each;
    if (each.rss >= most / 2) last = &each;
  }
  if (last == nullptr || first == last) return;
  const auto change = [&](double (*part)(const Composed&)) {
    return Change{part(*last) - part(*first), part(*last)};
  };
  death.facts.slack = change(slack_of);
  death.facts.mapped = change(mapped_of);
  death.facts.huge = change(huge_of);
}

void take_last_look(const model::Profile& profile, const std::vector<Composed>& all, double end_s,
                    Death& death) {
  std::uint64_t most = 0;
  for (const Composed& each : all) most = std::max(most, each.rss);
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    if (each->rss < most / 2) continue;
    death.lines = analysis::make_memory_lines(each->rows, profile, each->rss);
    death.lines_before_s = std::max(0.0, end_s - each->at_s);
    return;
  }
}

// Of an allocator that could not be traced (Go's, one without names) no block was seen: that says nothing of what lived.
bool no_allocator_was_traced(const model::HeapTables& heap) {
  return !heap.hooks.empty() && std::ranges::all_of(heap.hooks, [](const model::HeapHook& hook) {
    return hook.kind == model::HookKind::kNone;
  });
}

void take_heap(const model::Profile& profile, const model::Process& dead, double from_s, Death& death) {
  if (profile.heap.empty() || no_allocator_was_traced(profile.heap)) return;
  std::vector<TimedValue> live;
  std::set<std::uint32_t> heaps;
  for (std::uint32_t i = 0; i < profile.heap.heaps.size(); ++i) {
    const model::Heap& heap = profile.heap.heaps[i];
    if (!is_same(profile.processes[heap.process.value], dead) || heap.image_ended) continue;
    heaps.insert(i);
    death.sampled = death.sampled || heap.mode == model::HeapMode::kSampled;
    death.lost_events += heap.lost_ring_full + heap.lost_no_ring + heap.lost_throwing + heap.lost_set_full;
  }
  if (heaps.empty()) return;
  std::map<std::uint32_t, double> now;
  // What was live when the tracer came was allocated before it, and is not among these blocks.
  live.push_back({(static_cast<double>(profile.heap.heaps[*heaps.begin()].start_ns) -
                   static_cast<double>(profile.meta.start_ns)) *
                      1e-9,
                  0});
  for (const model::HeapSlice& slice : profile.heap.slices) {
    if (!heaps.contains(slice.heap.value) || !std::isfinite(slice.live_bytes)) continue;
    now[slice.heap.value] = slice.live_bytes;
    double sum = 0;
    for (const auto& [heap, bytes] : now) sum += bytes;
    live.push_back(
        {(static_cast<double>(slice.end_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9, sum});
  }
  analysis::HeapGroupOptions options;
  options.selection.metric = model::Metric::kHeapLive;
  options.selection.pid = death.pid;
  const analysis::HeapGroups groups = analysis::group_heap(profile, options);
  analysis::HeapAmounts all;
  for (const analysis::HeapGroupRow& row : groups.rows) {
    analysis::HeapAmount blocks = row.allocated.blocks;
    blocks.value = std::max(0.0, blocks.value - row.freed.blocks.value);
    blocks.variance += row.freed.blocks.variance;
    if (row.flat.value <= 0) continue;
    all.blocks.add(blocks);
    if (death.holders.size() < kMostHolders)
      death.holders.push_back({row.name, row.module, row.flat, blocks});
    if (death.holders.size() == 1 && !death.facts.freed_share && row.allocated.blocks.value > 0)
      death.facts.freed_share = std::min(1.0, row.freed.blocks.value / row.allocated.blocks.value);
  }
  all.bytes = groups.total;
  death.live = all;
  if (live.size() < 2) return;
  const double at_end = live.back().value;
  const double at_start = on_the_line(live, from_s);
  death.facts.live = Change{at_end - at_start, at_end};
  death.facts.live_error = death.sampled ? groups.total.error() : 0;
}

// Growth of the last third of the window, of the mean third.
std::optional<double> late_share(std::span<const TimedValue> values, double from_s, double to_s) {
  std::size_t inside = 0;
  for (const TimedValue& each : values) inside += each.time_s >= from_s && each.time_s <= to_s;
  const double all = value_at(values, to_s) - value_at(values, from_s);
  if (inside < 9 || all <= 0) return std::nullopt;
  return (value_at(values, to_s) - value_at(values, to_s - (to_s - from_s) / 3)) / (all / 3);
}

void take_growth(const model::Profile& profile, const model::Process& dead, Death& death) {
  const auto of = [&](std::string_view name) { return series_of(profile, dead, name); };
  const std::vector<TimedValue> anonymous = of("memory.rss_anon"), file = of("memory.rss_file"),
                                shared = of("memory.rss_shmem"), tables = of("memory.page_tables"),
                                faults = of("memory.major_faults"), cache = of("cgroup.page_cache");
  const double end_s = end_of(profile, dead);
  const auto compositions = compositions_of(profile, dead);
  take_last_look(profile, compositions, end_s, death);
  std::vector<TimedValue> resident = anonymous;
  for (TimedValue& each : resident) each.value += value_at(file, each.time_s) + value_at(shared, each.time_s);
  const double to_s = time_of_largest(resident, 1);
  const double from_s = start_of_growth(resident, to_s);
  if (!resident.empty()) {
    death.last_rss = value_at(resident, to_s);
    death.last_rss_before_s = std::max(0.0, end_s - to_s);
  }
  death.window_s = death.facts.window_s = std::max(0.0, to_s - from_s);
  death.facts.anonymous = change_of(anonymous, from_s, to_s);
  death.facts.file = change_of(file, from_s, to_s);
  death.facts.shared = change_of(shared, from_s, to_s);
  death.facts.page_tables = change_of(tables, from_s, to_s);
  if (!cache.empty()) {
    // What the process maps of it is in `file` already.
    const Change all = change_of(cache, from_s, to_s);
    death.facts.page_cache =
        Change{all.grew - death.facts.file.grew, std::max(0.0, all.at_end - death.facts.file.at_end)};
  }
  if (death.window_s > 0 && !faults.empty())
    death.facts.major_faults_per_s = change_of(faults, from_s, to_s).grew / death.window_s;
  std::vector<TimedValue> window;
  for (const TimedValue& each : anonymous)
    if (each.time_s >= from_s - 1e-9 && each.time_s <= to_s + 1e-9) window.push_back(each);
  if (const auto slope = analysis::slope_of(window))
    death.slope = Rate{slope->per_second, slope->low, slope->high};
  death.facts.late_share = late_share(anonymous, from_s, to_s);
  take_compositions(compositions, from_s, death);
  take_heap(profile, dead, from_s, death);
  if (!death.facts.live) {
    // Rows of allocators and of the program's own mappings hold live blocks, too: their number is unknown.
    death.facts.slack = death.facts.mapped = death.facts.huge = std::nullopt;
  }
  death.growth = classify(death.facts);
  // The slope is that of anonymous memory.
  const bool is_anonymous =
      death.growth.kind != GrowthKind::kShared && death.growth.kind != GrowthKind::kPageTables;
  death.headroom =
      headroom_of(death.facts, death.growth, static_cast<double>(death.limit_bytes.value_or(0)),
                  is_anonymous && death.slope && death.slope->grows() ? death.slope->per_second : 0);
}

// Of several that had the number, the last.
const model::Process* process_of(const model::Profile& profile, std::int64_t pid) {
  const model::Process* found = nullptr;
  for (const model::Process& process : profile.processes)
    if (process.pid == pid && (found == nullptr || process.start_ns >= found->start_ns)) found = &process;
  return found;
}

bool tells_whom_the_kernel_chose(const model::Profile& profile) {
  const auto first = profile.meta.facts.lower_bound("oom.");
  return first != profile.meta.facts.end() && first->first.starts_with("oom.");
}

}  // namespace

std::optional<Death> death_of(const model::Profile& profile) {
  analysis::Ending ending = analysis::ending_of(profile);
  // Of several that ended, and of children, the one that the kernel chose.
  for (const analysis::Ending& each : analysis::endings_of(profile))
    if (each.out_of_memory) {
      ending = each;
      break;
    }
  Death death;
  death.signal = ending.signal;
  AboutUs us;
  us.group = ending.cgroup;
  for (const model::Process& process : profile.processes) us.pids.insert(process.pid);
  death.record = read_evidence(fact_of(profile, kKernelRecordFact), us);
  death.log_unread = fact_of(profile, kKernelLogFact) != "read";

  // The process that ended: attached to, or launched and then without a recorded parent.
  const model::Process* dead = nullptr;
  if (ending.pid) dead = process_of(profile, *ending.pid);
  for (const model::Process& process : profile.processes)
    if (dead == nullptr && process.parent_pid == 0 && process.pid != 0) dead = &process;
  const bool is_about_us = death.record && is_about(*death.record, us);
  bool of_another = death.record && !is_about_us;
  if (is_about_us && !death.record->kills.empty()) {
    const auto& kills = death.record->kills;
    const bool is_dead_one = dead != nullptr && std::ranges::any_of(kills, [&](const oom::Kill& kill) {
                               return kill.pid == dead->pid;
                             });
    // A process of the recorded ones was killed, and the one that ended by a signal is another.
    if (!is_dead_one && ending.signal == 0)
      for (const oom::Kill& kill : kills)
        if (const model::Process* victim = process_of(profile, kill.pid); victim != nullptr) {
          dead = victim;
          break;
        }
    of_another = !is_dead_one && ending.signal != 0;
  }
  // An OOM kill of another process in the group is not this one's. If the victim is unknown, so is this: no
  // fact says whether the counter could be read.
  bool is_counted = ending.out_of_memory, is_watched = false;
  if (dead != nullptr && profile.meta.facts.contains("end." + std::to_string(dead->pid))) {
    is_watched = tells_whom_the_kernel_chose(profile);
    ending = analysis::ending_of(profile, *dead);
    is_counted = ending.out_of_memory;
    death.gone_group = ending.gone_cgroup;
    is_watched = is_watched && ending.gone_cgroup.empty();
  }
  const std::string_view cause =
      dead == nullptr ? std::string_view() : fact_of(profile, fmt::format("oom_cause.{}", dead->pid).c_str());
  const bool is_limit = cause.starts_with(kLimitCause);
  const auto verdict = judge({.signal = ending.signal,
                              .group_counted = is_counted,
                              .cause = is_limit             ? CountedCause::kLimit
                                       : cause == "machine" ? CountedCause::kMachine
                                                            : CountedCause::kNotKnown,
                              .group_watched = is_watched,
                              .log_read = !death.log_unread,
                              .record = death.record ? &*death.record : nullptr,
                              .record_is_of_another = of_another});
  if (!verdict || dead == nullptr) return std::nullopt;
  death.verdict = *verdict;
  death.pid = dead->pid;
  death.name = std::string(profile.strings[dead->name]);
  if (death.record && death.record->scope == oom::Scope::kGroup) {
    death.group = death.record->limited_group;
    if (death.record->memory) death.limit_bytes = death.record->memory->limit_bytes;
  }
  if (death.group.empty() && death.verdict == Verdict::kGroupLimit && is_limit)
    death.group = cause.substr(kLimitCause.size());
  if (death.group.empty() && death.verdict != Verdict::kMachine) death.group = ending.cgroup;
  if (!death.limit_bytes && death.verdict != Verdict::kMachine) death.limit_bytes = ending.limit_bytes;
  if (death.verdict == Verdict::kMachine && death.record) death.limit_bytes = death.record->ram_bytes;
  if (auto fatal = model::fatal_signal_of(dead->pid, profile.meta.facts);
      fatal && fatal->signal == death.signal) {
    death.place = analysis::last_place_of(profile, *fatal);
    death.fatal = std::move(fatal);
  }
  take_growth(profile, *dead, death);
  if (auto lines = lines_of(fact_of(profile, kWallStackFact), kMostFrames); lines.size() >= 2) {
    WallStack wall;
    wall.thread = lines.front();
    wall.functions.assign(lines.begin() + 1, lines.end());
    death.wall = std::move(wall);
  } else {
    death.wall_unseen = fact_of(profile, kWallUnseenFact);
  }
  death.marks = lines_of(fact_of(profile, kMarksFact), kMostMarks);
  return death;
}

}  // namespace fathom::flight
