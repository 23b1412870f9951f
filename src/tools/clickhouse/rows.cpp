#include "tools/clickhouse/rows.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/core/heap.h"
#include "analysis/core/selection.h"
#include "analysis/core/wait_cause.h"
#include "analysis/core/waits.h"
#include "present/exports/cost_rows.h"

namespace fathom::clickhouse {
namespace {

using model::Metric;

std::uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

// Frames and stacks of a profile by their texts, each once.
class Tables {
 public:
  Tables(const model::Profile& profile, Rows& rows)
      : profile_(profile), rows_(rows), places_(profile.frames.size()) {}

  // The hash of the stack, whose row is added when it is new.
  std::uint64_t stack(model::StackId id, std::uint32_t skip, const std::string& cause,
                      const std::optional<WaitKind>& wait = {}) {
    const auto [known, added] = known_.try_emplace(std::tuple(id.value, skip, cause, wait), 0);
    if (!added) return known->second;
    StackRow row;
    row.wait = wait;
    if (!cause.empty())
      row.frames.push_back(
          frame({cause, "", "", static_cast<std::uint8_t>(model::ModuleKind::kNames), false}));
    bool leaf = true;
    for (; id.value != 0; id = profile_.stacks[id.value].parent, leaf = false)
      append_place(profile_.stacks[id.value].frame, leaf ? skip : 0, row.frames);
    std::string key;
    for (const std::uint32_t frame : row.frames)
      key.append(reinterpret_cast<const char*>(&hashes_[frame]), sizeof(hashes_[frame]));
    if (wait)
      key += fmt::format("{}\n{}\n{}\n{}", wait->cause, wait->waker, wait->waker_stack, facts_text(*wait));
    row.hash = std::max<std::uint64_t>(1, hash_of(key));
    known->second = row.hash;
    if (stacks_.insert(row.hash).second) rows_.stacks.push_back(std::move(row));
    return known->second;
  }

 private:
  void append_place(model::FrameId id, std::uint32_t skip, std::vector<std::uint32_t>& out) {
    std::vector<std::uint32_t>& lines = places_[id.value];
    if (lines.empty()) lines = lines_of(profile_.frames[id.value]);
    out.insert(out.end(),
               lines.begin() + std::min<std::ptrdiff_t>(skip, static_cast<std::ptrdiff_t>(lines.size())),
               lines.end());
  }

  std::vector<std::uint32_t> lines_of(const model::Frame& place) {
    const model::Module& module = profile_.modules[place.module.value];
    FrameRow row;
    row.module = profile_.strings[module.name];
    row.kind = static_cast<std::uint8_t>(module.kind);
    if (place.line_count == 0) {
      row.function = fmt::format("{:#x}", place.address.value);
      return {frame(std::move(row))};
    }
    std::vector<std::uint32_t> lines;
    for (std::uint32_t i = 0; i < place.line_count; ++i) {
      const model::Line& line = profile_.lines[place.first_line + i];
      row.function = profile_.strings[profile_.functions[line.function.value].name];
      const std::string_view file = profile_.strings[line.file];
      row.source = file.empty() ? "" : fmt::format("{}:{}", file, line.line);
      row.inlined = i + 1 < place.line_count;
      lines.push_back(frame(row));
    }
    return lines;
  }

  std::uint32_t frame(FrameRow row) {
    std::string key;
    for (const std::string* text : {&row.function, &row.module, &row.source}) {
      key += *text;
      key += '\0';
    }
    key += static_cast<char>(row.kind);
    key += static_cast<char>(row.inlined);
    const auto [known, added] = frames_.try_emplace(key, static_cast<std::uint32_t>(rows_.frames.size()));
    if (added) {
      hashes_.push_back(hash_of(key));
      rows_.frames.push_back(std::move(row));
    }
    return known->second;
  }

  const model::Profile& profile_;
  Rows& rows_;
  std::vector<std::vector<std::uint32_t>> places_;  // by frame of the model; empty: not looked at
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string, std::optional<WaitKind>>, std::uint64_t>
      known_;
  std::unordered_map<std::string, std::uint32_t> frames_;
  std::vector<std::uint64_t> hashes_;  // by row of Rows::frames
  std::set<std::uint64_t> stacks_;
};

// Sums that a server can add up.
std::vector<Metric> summable(const model::Profile& profile) {
  std::vector<Metric> metrics;
  const std::vector<Metric> there = analysis::metrics_in(profile);
  const auto has = [&](Metric metric) { return std::ranges::find(there, metric) != there.end(); };
  for (const Metric metric :
       {Metric::kCpu, Metric::kOffCpu, Metric::kHeapAllocated, Metric::kHeapAllocations})
    if (has(metric)) metrics.push_back(metric);
  // Otherwise it is the sum of the first two.
  if (has(Metric::kWall) && !has(Metric::kCpu) && !has(Metric::kOffCpu)) metrics.push_back(Metric::kWall);
  return metrics;
}

bool has_times(const model::Profile& profile) {
  return profile.meta.end_ns > profile.meta.start_ns && profile.meta.start_unix_ns != 0 &&
         std::ranges::all_of(profile.samples,
                             [](const model::Sample& sample) { return sample.time_ns != 0; });
}

// Counts of the whole recording, shared out by time: the shares of all parts add up to the count.
std::uint64_t share_of(std::uint64_t count, std::uint64_t from, std::uint64_t until, std::uint64_t length) {
  if (length == 0) return count;
  const auto before = [&](std::uint64_t time) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(count) * time / length);
  };
  return before(until) - before(from);
}

class WindowMaker {
 public:
  WindowMaker(const model::Profile& profile, Rows& rows, std::uint64_t period_ns)
      : profile_(profile), rows_(rows), tables_(profile, rows), period_ns_(period_ns) {}

  void make(std::uint64_t index, std::uint64_t count) {
    const auto edge = [&](std::uint64_t i) {
      return static_cast<std::uint64_t>(static_cast<unsigned __int128>(length()) * i / count);
    };
    const model::Meta& meta = profile_.meta;
    make(edge(index), edge(index + 1),
         hash_of(fmt::format("{}\n{}\n{}\n{}\n{} {} {} {} {}", rows_.labels.service, rows_.labels.host,
                             rows_.labels.version, meta.target, meta.start_ns, meta.end_ns,
                             meta.start_unix_ns, index, count)));
  }

  // ns since the start.
  void make_gap(std::uint64_t from, std::uint64_t until) {
    const model::Meta& meta = profile_.meta;
    make(from, until,
         hash_of(fmt::format("{}\n{}\n{}\n{}\n{} {} {} gap {} {}", rows_.labels.service, rows_.labels.host,
                             rows_.labels.version, meta.target, meta.start_ns, meta.end_ns,
                             meta.start_unix_ns, from, until)));
  }

 private:
  std::uint64_t length() const { return profile_.meta.end_ns - profile_.meta.start_ns; }

  // Names may be looked up again later and stacks change by it; the recording and its time stay the same, and so does `id`.
  void make(std::uint64_t from, std::uint64_t until, std::uint64_t id) {
    WindowRows window;
    window.start_unix_ns = profile_.meta.start_unix_ns + from;
    window.length_ns = until - from;
    window.id = id;
    analysis::Selection selection;
    if (from > 0) selection.from_ns = from;
    if (until < length()) selection.to_ns = until;
    for (const Metric metric : summable(profile_)) {
      selection.metric = metric;
      if (metric == Metric::kOffCpu)
        add_waits(selection, window);
      else
        add_metric(selection, window);
    }
    if (!profile_.heap.empty()) add_heap(selection, window);
    add_quality(from, until, window);
    rows_.windows.push_back(std::move(window));
  }

  using SumsByPlace = std::map<std::pair<std::string, std::uint64_t>, std::int64_t>;  // by thread and stack

  void add_metric(const analysis::Selection& selection, WindowRows& window) {
    const present::CostRows costs = present::metric_rows(profile_, selection);
    SumsByPlace sums;
    for (const present::CostRow& row : costs.rows) {
      std::int64_t& sum =
          sums[{thread_name(row.thread), tables_.stack(row.stack, row.skip, costs.causes[row.cause])}];
      if (__builtin_add_overflow(sum, row.value, &sum)) sum = std::numeric_limits<std::int64_t>::max();
    }
    put_sums(model::to_string(selection.metric), selection.metric == Metric::kCpu ? period_ns_ : 0, sums,
             window);
  }

  static void put_sums(std::string_view metric, std::uint64_t period_ns, const SumsByPlace& sums,
                       WindowRows& window) {
    for (const auto& [key, sum] : sums)
      if (sum != 0) window.samples.push_back({std::string(metric), key.first, period_ns, key.second, sum});
  }

  // The waits of one thread name, stack, cause and waker.
  struct WaitPlace {
    std::string thread;
    model::StackId stack;
    analysis::Cause cause;
    WaitKind kind;  // without the waker
    std::string waker;
    model::StackId waker_stack;
    auto operator<=>(const WaitPlace&) const = default;
    WaitPlace without_waker() const { return {thread, stack, cause, kind, "", {}}; }
  };
  struct WaitTime {
    std::int64_t ns = 0, waits = 0;
  };

  // As present::sample_rows() adds them up, but for each kind of wait on its own.
  std::map<WaitPlace, WaitTime> waits_of(const analysis::Selection& selection) {
    std::map<WaitPlace, WaitTime> all;
    analysis::ValueBudget budget;
    const analysis::Waits waits(profile_, selection);
    const auto add = [&](WaitPlace place, std::int64_t ns, std::uint32_t count) {
      place.kind.cause = analysis::to_string(place.cause);
      WaitTime& time = all[std::move(place)];
      time.ns += budget.take(ns);
      time.waits += count;
    };
    for (const analysis::SelectedWait& row : waits.rows()) {
      const model::Wait wait = waits.wait(row);
      const std::string thread = thread_name(wait.thread);
      if (row.waited_ns != 0) {
        WaitPlace place{thread, wait.stack, row.cause, wait_kind_of(profile_, wait), "", {}};
        // A timer interrupts any thread, which then seems to have ended the wait.
        if (!waits.causes().is_ended_by_timer(wait)) {
          place.waker = thread_name(wait.waker);
          place.waker_stack = wait.waker_stack;
        }
        add(std::move(place), analysis::weighted_ns(row.waited_ns, waits.weight(row)), row.weight);
      }
      // The way back to a CPU is a part of the wait before it, and counts alone where there was none.
      if (row.queued_ns == 0) continue;
      WaitPlace queue{thread, wait.stack, row.queue_cause, {}, "", {}};
      queue.kind.state = model::WaitState::kPreempted;
      queue.kind.throttled = wait.throttled;
      add(std::move(queue), analysis::weighted_ns(row.queued_ns, waits.queue_weight(row)),
          row.waited_ns != 0 ? 0 : row.weight);
    }
    return all;
  }

  void add_waits(const analysis::Selection& selection, WindowRows& window) {
    SumsByPlace sums, counts;
    const auto all = waits_of(selection);
    std::map<WaitPlace, std::int64_t> wholes;
    for (const auto& [place, time] : all) wholes[place.without_waker()] += time.ns;
    for (const auto& [place, time] : all) {
      // A busy server has thousands of wakers, each of a few waits: they would be most of the rows.
      const bool is_large = time.ns >= wholes[place.without_waker()] / 50;
      WaitKind kind = place.kind;
      if (is_large) {
        kind.waker = place.waker;
        kind.waker_stack = place.waker_stack.value == 0 ? 0 : tables_.stack(place.waker_stack, 0, "");
      }
      const std::pair key(place.thread,
                          tables_.stack(place.stack, 0, std::string(analysis::frame_of(place.cause)), kind));
      sums[key] += time.ns;
      if (time.waits != 0) counts[key] += time.waits;
    }
    analysis::ValueBudget budget;
    const analysis::Filter filter(profile_, selection);
    for (const model::Sample& sample : profile_.samples)
      if (filter.takes(sample))
        sums[{thread_name(sample.thread), tables_.stack(sample.stack, 0, "")}] += budget.take(sample.value);
    put_sums(model::to_string(Metric::kOffCpu), 0, sums, window);
    put_sums(kWaitCount, 0, counts, window);
  }

  void add_heap(analysis::Selection selection, WindowRows& window) {
    selection.metric = Metric::kHeapLive;
    const analysis::HeapSums heap(profile_, selection);
    std::uint64_t mean = 0;
    for (const model::Heap& row : profile_.heap.heaps)
      if (row.mode == model::HeapMode::kSampled) mean = std::max(mean, row.mean_bytes);
    struct Figure {
      const char* metric;
      bool is_blocks;
      present::WholeSum whole = {};
      SumsByPlace sums = {};
    };
    Figure figures[] = {{kFreedBytes, false}, {kFreedBlocks, true}, {kLiveBytes, false}, {kLiveBlocks, true}};
    for (const present::HeapCostRow& row : present::heap_rows(profile_, selection, heap)) {
      const analysis::HeapSiteSums& site = heap.sites()[row.site.value];
      const std::pair key(thread_name(row.thread), tables_.stack(row.stack, row.skip, ""));
      for (Figure& figure : figures) {
        const analysis::HeapAmounts& of = is_level(figure.metric) ? site.live : site.freed;
        const double value = (figure.is_blocks ? of.blocks : of.bytes).value;
        if (value > 0) figure.sums[key] += figure.whole.take(value);
      }
    }
    for (const Figure& figure : figures)
      put_sums(figure.metric, is_level(figure.metric) ? mean : 0, figure.sums, window);
  }

  std::string thread_name(model::ThreadId thread) const {
    return thread == model::kNoThread ? std::string()
                                      : std::string(profile_.strings[profile_.threads[thread.value].name]);
  }

  void add_quality(std::uint64_t from, std::uint64_t until, WindowRows& window) {
    const model::Quality& quality = profile_.quality;
    const std::uint64_t lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk;
    const double expected = std::clamp(quality.expected_samples, 0.0, 9e18);
    const auto put = [&](const char* metric, std::uint64_t all) {
      const std::uint64_t share = share_of(all, from, until, length());
      if (share != 0)
        window.samples.push_back(
            {metric, "", 0, 0, static_cast<std::int64_t>(std::min<std::uint64_t>(share, INT64_MAX))});
    };
    put(kQualitySamples, quality.samples);
    put(kQualityExpected, static_cast<std::uint64_t>(std::llround(expected)));
    put(kQualityLost, lost);
    const double arrived = expected > 0 ? static_cast<double>(quality.samples) / expected : 1;
    window.quality = static_cast<std::uint8_t>(std::clamp(std::lround(arrived * 100), 0L, 100L));
  }

  const model::Profile& profile_;
  Rows& rows_;
  Tables tables_;
  const std::uint64_t period_ns_;
};

}  // namespace

bool is_of_heap(std::string_view metric) {
  const auto known = model::metric_from(metric);
  return is_level(metric) || metric == kFreedBytes || metric == kFreedBlocks ||
         (known && model::is_heap(*known));
}

SampleRow marker_of(const push::Labels& labels, const WindowRows& window) {
  return {kWindowMetric, labels.of_store ? kStoreThread : "",
          labels.of_store ? window.start_unix_ns % 1'000'000'000 : 0, 0,
          static_cast<std::int64_t>(window.samples.size())};
}

std::vector<TimeSpan> gaps_of(const TimeSpan& whole, std::vector<TimeSpan> covered) {
  constexpr std::uint64_t kLeastGapNs = 100'000'000;
  std::ranges::sort(covered, {}, &TimeSpan::from_unix_ns);
  std::vector<TimeSpan> gaps;
  std::uint64_t at = whole.from_unix_ns;
  const auto add = [&](std::uint64_t until) {
    if (until > at && until - at >= kLeastGapNs) gaps.push_back({at, until});
  };
  for (const TimeSpan& each : covered) {
    add(std::min(each.from_unix_ns, whole.until_unix_ns));
    at = std::max(at, each.until_unix_ns);
  }
  add(whole.until_unix_ns);
  // The clock of the wall moves a little from window to window. A window that touches its neighbour is whole.
  if (!gaps.empty() && gaps.front().from_unix_ns < whole.from_unix_ns + kLeastGapNs)
    gaps.front().from_unix_ns = whole.from_unix_ns;
  if (!gaps.empty() && gaps.back().until_unix_ns + kLeastGapNs > whole.until_unix_ns)
    gaps.back().until_unix_ns = whole.until_unix_ns;
  return gaps;
}

TimeSpan span_of(const model::Profile& profile) {
  const model::Meta& meta = profile.meta;
  return {meta.start_unix_ns,
          meta.start_unix_ns + (meta.end_ns > meta.start_ns ? meta.end_ns - meta.start_ns : 0)};
}

namespace {

Result<std::uint64_t> period_of(const model::Profile& profile) {
  const std::string unit = analysis::unit_of(profile, Metric::kCpu);
  if (unit != "samples" && unit != "ns")
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} counts {}, which cannot be added to CPU times of other hosts",
                            profile.meta.target, unit),
                "fathom record, without --event");
  return static_cast<std::uint64_t>(std::llround(std::clamp(analysis::sample_period_ns(profile), 0.0, 1e12)));
}

}  // namespace

Result<Rows> rows_of(const model::Profile& profile, push::Labels labels, std::uint64_t window_ns) {
  const auto period = period_of(profile);
  if (!period) return tl::unexpected<Error>(period.error());
  Rows rows;
  rows.labels = std::move(labels);
  const std::uint64_t length =
      profile.meta.end_ns > profile.meta.start_ns ? profile.meta.end_ns - profile.meta.start_ns : 0;
  const std::uint64_t count =
      has_times(profile) ? std::clamp<std::uint64_t>(
                               (length + window_ns / 2) / std::max<std::uint64_t>(1, window_ns), 1, 10'000)
                         : 1;
  WindowMaker maker(profile, rows, *period);
  for (std::uint64_t i = 0; i < count; ++i) maker.make(i, count);
  return rows;
}

Result<Rows> rows_of_gaps(const model::Profile& profile, push::Labels labels,
                          const std::vector<TimeSpan>& gaps) {
  const auto period = period_of(profile);
  if (!period) return tl::unexpected<Error>(period.error());
  Rows rows;
  rows.labels = std::move(labels);
  WindowMaker maker(profile, rows, *period);
  const TimeSpan whole = span_of(profile);
  for (const TimeSpan& gap : gaps)
    maker.make_gap(gap.from_unix_ns - whole.from_unix_ns, gap.until_unix_ns - whole.from_unix_ns);
  return rows;
}

}  // namespace fathom::clickhouse
