// What does not grow and may still be worth a change: peaks, churn, what is kept to the end, caches, bloat.
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/core/ending.h"
#include "analysis/verdicts/heap_judge.h"

namespace fathom::analysis {
namespace {

using namespace model;

using Evidence = HeapEvidenceKind;
using Doubt = HeapDoubtKind;
using Advice = HeapAdviceKind;

// The shares that matter, most first.
void add_shares(HeapVerdict& verdict, std::vector<HeapShare> shares, double least) {
  std::sort(shares.begin(), shares.end(),
            [](const HeapShare& a, const HeapShare& b) { return a.bytes > b.bytes; });
  for (HeapShare& share : shares) {
    if (share.share < least) break;
    verdict.shares.push_back(std::move(share));
  }
}

struct Sizes {
  double largest_from = 0, largest_share = 0;  // the bucket of most bytes, and its share of them
};
Sizes sizes_of(const HeapJudge& judge, const HeapTrack& track) {
  std::vector<char> wanted(judge.profile.heap.sites.size());
  for (const HeapSiteId site : track.sites) wanted[site.value] = 1;
  std::map<int, double> buckets;
  double all = 0;
  for (const HeapHistogram& row : judge.profile.heap.histograms) {
    if (row.kind != HeapHistogramKind::kSize || wanted[row.site.value] == 0) continue;
    buckets[row.bucket] += row.sum.bytes;
    all += row.sum.bytes;
  }
  Sizes sizes;
  for (const auto& [bucket, value] : buckets) {
    if (value / all <= sizes.largest_share) continue;
    sizes.largest_share = value / all;
    sizes.largest_from = bucket == 0 ? 0 : std::ldexp(1.0, bucket - 1);
  }
  return sizes;
}

// Bytes and blocks that were live all through the later half of the work: what a flush frees now and then is not
// kept to the end.
HeapSum kept(const HeapHistory& history, const HeapTrack& track) {
  HeapSum least = track.live_before(history.end_of_work);
  HeapSum live = track.live_before(history.end_of_work / 2 + 1);
  for (std::size_t cell = history.end_of_work / 2 + 1; cell < history.end_of_work; ++cell) {
    least.bytes = std::min(least.bytes, live.bytes);
    least.blocks = std::min(least.blocks, live.blocks);
    live.bytes += track.cells[cell].allocated.bytes - track.cells[cell].freed.bytes;
    live.blocks += track.cells[cell].allocated.blocks - track.cells[cell].freed.blocks;
  }
  return least;
}

}  // namespace

void judge_peak(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const auto& heaps = judge.profile.heap.heaps;
  const auto largest = std::max_element(
      heaps.begin(), heaps.end(), [](const Heap& a, const Heap& b) { return a.peak_bytes < b.peak_bytes; });
  if (largest->process != history.process || history.end_of_work == 0) return;
  const HeapSums::Peak& peak = judge.sums.peak();
  const double level = judge.usual_level(history.whole), height = peak.total.bytes.value;
  const double at_s =
      (static_cast<double>(peak.time_ns) - static_cast<double>(judge.profile.meta.start_ns)) * 1e-9;
  const double excess = height - level;
  // The highest of many uncertain values is too high by itself.
  if (excess < 64 * 1024 || height < 1.3 * level || excess < 2 * peak.total.bytes.error()) return;
  const double into = at_s - history.start_s;
  const bool late = into > 0.9 * history.work_seconds(), early = into < 0.1 * history.work_seconds();
  // The end of what grows, or may grow, is its peak, which says nothing more.
  if (judge.whole.shape != TrendShape::kPlateau && judge.whole.shape != TrendShape::kNoise &&
      height < 1.3 * judge.whole.last)
    return;
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kPeak, nullptr);
  verdict.bytes = excess;
  number(verdict, "peak_bytes", height);
  number(verdict, "usual_bytes", level);
  number(verdict, "at_s", at_s);
  std::vector<HeapShare> shares;
  double explained = 0;
  for (const HeapTrack& track : history.functions) {
    double then = 0;
    for (const HeapSiteId site : track.sites) then += peak.sites[site.value].bytes.value;
    const double more = then - judge.usual_level(track);
    if (more <= 0) continue;
    explained += more;
    shares.push_back(judge.share_of(track, more, excess));
  }
  // What is less than usual elsewhere makes the parts more than the whole.
  if (explained > excess)
    for (HeapShare& share : shares) share.share = share.bytes / explained;
  add_shares(verdict, std::move(shares), 0.05);
  if (!verdict.shares.empty()) {
    verdict.function = verdict.shares.front().name;
    verdict.module = verdict.shares.front().module;
  }
  verdict.facts.height_bytes = height;
  verdict.facts.at_s = at_s;
  verdict.facts.level_bytes = level;
  verdict.facts.late = late;
  verdict.facts.early = early;
  verdict.evidence.push_back(history.sampled ? HeapEvidence{Evidence::kPeakError, peak.total.bytes.error()}
                             : peak.exact    ? HeapEvidence{Evidence::kPeakExact}
                             : peak.to_slice_end ? HeapEvidence{Evidence::kPeakOfSlice}
                                                 : HeapEvidence{Evidence::kPeakOfRecorded});
  if (late && !history.ended) verdict.doubts.push_back({Doubt::kMayRiseOn});
  if (peak.total.bytes.error() > 0.25 * excess) verdict.doubts.push_back({Doubt::kFewSampled});
  verdict.advice = {Advice::kShowPeak};
  settle(verdict);
  out.push_back(std::move(verdict));
}

void judge_exit(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  if (!history.ended || history.end_of_work == 0 || history.end_of_work >= history.ends_s.size()) return;
  const std::size_t cells = history.ends_s.size();
  const HeapSum before = history.whole.live_before(history.end_of_work);
  const HeapSum left = history.whole.live_before(cells);
  const double tail_s = history.ends_s.back() - history.ends_s[history.end_of_work - 1];
  const auto add = [&](HeapVerdictKind kind, const auto& of_track, const HeapSum& all_of,
                       HeapEvidence evidence, Advice advice) {
    const double all = all_of.bytes;
    HeapVerdict verdict = judge.verdict(kind, nullptr);
    verdict.bytes = all;
    number(verdict, "bytes", all);
    number(verdict, "shutdown_s", tail_s);
    std::vector<HeapShare> shares;
    for (const HeapTrack& track : history.functions)
      if (const double value = of_track(track); value > 0)
        shares.push_back(judge.share_of(track, value, all));
    add_shares(verdict, std::move(shares), 0.02);
    if (!verdict.shares.empty()) {
      verdict.function = verdict.shares.front().name;
      verdict.module = verdict.shares.front().module;
    }
    verdict.facts.blocks = all_of.blocks;
    verdict.facts.seconds = tail_s;
    verdict.evidence.push_back(evidence);
    verdict.advice = {advice};
    // What is left are other blocks than most of those that were allocated, and of another size.
    if (const HeapAmounts& left_over = judge.sums.total().leaked;
        kind == HeapVerdictKind::kUnfreed && left_over.bytes.value > 0 && left_over.blocks.value > 0)
      verdict.facts.per_unit = {left_over.blocks.variance / left_over.blocks.value,
                                left_over.bytes.variance / left_over.bytes.value};
    doubt_few_samples(verdict);
    if (history.seconds() > 0 && tail_s > 0.1 * history.seconds())
      verdict.doubts.push_back({Doubt::kLongLastSlice, tail_s});
    settle(verdict);
    out.push_back(std::move(verdict));
  };
  // What was live when a signal ended it was in use: the shutdown that would have freed it never ran.
  const Ending ending = ending_of(judge.profile, judge.profile.processes[history.process.value]);
  const bool stopped_short = ending.signal != 0 || ending.not_known;
  const HeapSum steady = kept(history, history.whole);
  const double freed = steady.bytes - left.bytes;
  if (!stopped_short && freed >= 16 * 1024 && freed >= 0.05 * before.bytes)
    add(
        HeapVerdictKind::kFreedAtExit,
        [&](const HeapTrack& track) { return kept(history, track).bytes - track.live_before(cells).bytes; },
        {std::max(0.0, steady.blocks - left.blocks), freed}, {Evidence::kNeverFreed, left.bytes, left.blocks},
        Advice::kWasItNeeded);
  if (left.bytes >= 16 * 1024)
    add(
        HeapVerdictKind::kUnfreed, [&](const HeapTrack& track) { return track.live_before(cells).bytes; },
        left, {Evidence::kNotALeakAlone}, Advice::kListLeaked);
  if (!stopped_short || out.empty() || out.back().kind != HeapVerdictKind::kUnfreed) return;
  out.back().facts.ended_by_signal = ending.signal;
  out.back().facts.end_not_known = ending.not_known;
}

void judge_churn(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const double time = history.seconds();
  if (!(time > 0)) return;
  const auto& cpu = judge.cpu;
  // Of a program that hardly runs, no share matters.
  const double cpus = cpu && judge.profile.meta.frequency_hz != 0
                          ? static_cast<double>(cpu->inside) / judge.profile.meta.frequency_hz / time
                          : 0;
  const bool costs = cpu && cpu->interval().low > 0.03 && cpus > 0.01;
  const double all_calls = history.whole.sum(0, history.ends_s.size()).allocated.blocks;
  bool any = false;
  for (const HeapTrack& track : history.functions) {
    const HeapSum allocated = track.sum(0, history.ends_s.size()).allocated;
    const HeapSum& short_lived =
        history.sampled
            ? track.short_lived
            : (track.short_lived.blocks > track.temporary.blocks ? track.short_lived : track.temporary);
    const bool by_order = &short_lived == &track.temporary;
    const double calls = allocated.blocks / time,
                 share = allocated.blocks > 0 ? short_lived.blocks / allocated.blocks : 0;
    if (share < 0.5 || (calls < 10'000 && allocated.bytes / time < (64 << 20)) ||
        (allocated.blocks < 0.05 * all_calls && allocated.bytes / time < (64 << 20)))
      continue;
    HeapAmount sampled;
    for (const HeapSiteId site : track.sites) sampled.add(judge.sums.sites()[site.value].allocated.blocks);
    if (sampled.error() > sampled.value) continue;  // chance
    any = true;
    HeapVerdict verdict = judge.verdict(HeapVerdictKind::kChurn, &track);
    verdict.bytes = allocated.bytes;
    number(verdict, "calls_per_s", calls);
    number(verdict, "bytes_per_s", allocated.bytes / time);
    number(verdict, by_order ? "temporary_percent" : "short_lived_percent", 100 * share);
    verdict.shares.push_back(judge.share_of(track, allocated.bytes, allocated.bytes));
    verdict.facts.place = judge.place(track);
    verdict.facts.calls_per_s = calls;
    verdict.facts.bytes_per_s = allocated.bytes / time;
    verdict.facts.calls_share = std::min(1.0, all_calls > 0 ? allocated.blocks / all_calls : 0);
    verdict.facts.passing_share = std::min(1.0, share);
    verdict.facts.by_order = by_order;
    if (sampled.error() > 0.25 * sampled.value)
      verdict.doubts.push_back({Doubt::kFewSampledCalls, sampled.error() / sampled.value});
    if (cpu) {
      std::int64_t inside = 0;
      for (const AllocatorCpuRow& row : cpu->functions)
        if (row.name == track.name && row.module == track.module) inside += row.inside;
      number(verdict, "allocator_cpu_percent", 100 * cpu->share());
      verdict.evidence.push_back(
          cpu->inside < 20 ? HeapEvidence{Evidence::kSeenInAllocators, static_cast<double>(cpu->inside),
                                          static_cast<double>(cpu->total)}
                           : HeapEvidence{Evidence::kAllocatorCpu, cpu->share(), cpu->interval().half_width(),
                                          static_cast<double>(inside) / static_cast<double>(cpu->inside)});
      if (cpu->interval().high < 0.02) verdict.doubts.push_back({Doubt::kCostsNothing});
    } else {
      verdict.doubts.push_back({Doubt::kCpuUnknown});
    }
    verdict.advice = {Advice::kKeepBuffer};
    settle(verdict);
    out.push_back(std::move(verdict));
  }
  if (!costs || any) return;
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kChurn, nullptr);
  verdict.bytes = history.whole.sum(0, history.ends_s.size()).allocated.bytes;
  number(verdict, "calls_per_s", all_calls / time);
  number(verdict, "allocator_cpu_percent", 100 * cpu->share());
  verdict.facts.calls_per_s = all_calls / time;
  verdict.facts.cpu_share = cpu->share();
  verdict.facts.cpu_error = cpu->interval().half_width();
  for (std::size_t i = 0; i < std::min<std::size_t>(2, cpu->functions.size()); ++i)
    verdict.facts.cpu_for.emplace_back(cpu->functions[i].name, static_cast<double>(cpu->functions[i].inside) /
                                                                   static_cast<double>(cpu->inside));
  verdict.advice = {Advice::kShowCalls};
  settle(verdict);
  out.push_back(std::move(verdict));
}

void judge_steady(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const double all = history.whole.live_before(history.end_of_work).bytes;
  for (std::size_t i = 0; i < history.functions.size(); ++i) {
    const HeapTrack& track = history.functions[i];
    const Trend& trend = judge.trends[i];
    const HeapSum live = track.live_before(history.end_of_work);
    const double share = all > 0 ? live.bytes / all : 0;
    if (live.bytes < 64 * 1024 || share < 0.1 || trend.shape == TrendShape::kGrowing ||
        trend.shape == TrendShape::kSteps || trend.shape == TrendShape::kTooShort ||
        trend.shape == TrendShape::kFalling)
      continue;
    // A slope above zero is growth, and growth is neither a cache nor bloat, unless it has ended.
    const bool rises = trend.slope.known && trend.slope.low > 0;
    if (rises && !trend.level_at_last) continue;
    // Of the time in which it was level.
    const double level_from = history.start_s + trend.warm_up_s;
    const auto from = static_cast<std::size_t>(
        std::lower_bound(history.ends_s.begin(), history.ends_s.end(), level_from - 1e-9) -
        history.ends_s.begin());
    const std::size_t first = std::min(trend.warm_up_s > 0 ? from + 1 : from, history.end_of_work);
    const HeapCell flow = track.sum(first, history.end_of_work);
    const double level_s = trend.duration_s - trend.warm_up_s;
    const double replaced = std::min(flow.allocated.bytes, flow.freed.bytes) / live.bytes;
    const double mean_life = flow.freed.bytes > 0 ? live.bytes / flow.freed.bytes * level_s : 0;
    const bool level = trend.shape == TrendShape::kPlateau;
    const double short_lived =
        flow.allocated.blocks > 0 ? track.short_lived.blocks / flow.allocated.blocks : 0;
    HeapVerdict verdict = judge.verdict(HeapVerdictKind::kCache, &track);
    verdict.bytes = live.bytes;
    verdict.trend = trend;
    number(verdict, "live_bytes", live.bytes);
    number(verdict, "live_blocks", live.blocks);
    number(verdict, "live_share_percent", 100 * share);
    number(verdict, "replaced_times", replaced);
    verdict.shares.push_back(judge.share_of(track, live.bytes, all));
    verdict.facts.place = judge.place(track);
    verdict.facts.level = level;
    verdict.facts.live_share = std::min(1.0, share);
    if (trend.warm_up_s > 0) verdict.facts.since_s = level_from;
    if (trend.slope.known) verdict.evidence.push_back({Evidence::kSlope, trend.slope.low, trend.slope.high});
    // Below this a leak inside of it looks the same.
    const double unseen =
        std::max(judge.unseen_growth(track, trend, live.bytes), trend.slope.known ? 0 : live.bytes / level_s);
    // A container that is made larger gives back what it had: that is no replacement of blocks by others.
    const bool is_container = live.blocks < 8 && judge.growth_in_room(track) > 0;
    if (!is_container && replaced >= 0.25 && short_lived < 0.5 && mean_life > 0.01) {
      number(verdict, "mean_life_s", mean_life);
      verdict.facts.replaced = replaced;
      verdict.facts.level_s = level_s;
      verdict.facts.mean_life_s = mean_life;
      if (!level) verdict.doubts.push_back({Doubt::kNotLevel});
      number(verdict, "unseen_bytes_per_s", unseen);
      verdict.advice = {level ? Advice::kChangeLimit : Advice::kMayGrow, unseen, level_s};
    } else if (replaced < 0.1 && level && unseen * level_s < 0.5 * live.bytes) {
      verdict.kind = HeapVerdictKind::kBloat;
      const double mean = live.blocks > 0 ? live.bytes / live.blocks : 0;
      const Sizes sizes = sizes_of(judge, track);
      number(verdict, "mean_bytes", mean);
      number(verdict, "unseen_bytes_per_s", unseen);
      verdict.facts.unseen_bytes_per_s = unseen;
      verdict.facts.unseen_in_s = level_s;
      const bool few = mean >= 32 * 1024;
      verdict.facts.blocks = live.blocks;
      verdict.facts.mean_bytes = mean;
      if (sizes.largest_share > 0)
        verdict.evidence.push_back({Evidence::kMostlyOfSize, sizes.largest_share, sizes.largest_from,
                                    std::max(1.0, 2 * sizes.largest_from)});
      verdict.evidence.push_back(flow.freed.bytes <= 0
                                     ? HeapEvidence{Evidence::kReplacedNone, level_s}
                                     : HeapEvidence{Evidence::kReplacedShare, replaced, level_s});
      verdict.advice = {few ? Advice::kFewHuge : Advice::kManySmall};
    } else {
      continue;
    }
    if (trend.duration_s < 60) verdict.doubts.push_back({Doubt::kFewSeconds, trend.duration_s});
    doubt_few_samples(verdict);
    if (!history.from_start && history.from_zero) verdict.evidence.push_back({Evidence::kSinceStartOnly});
    settle(verdict);
    out.push_back(std::move(verdict));
  }
}

}  // namespace fathom::analysis
