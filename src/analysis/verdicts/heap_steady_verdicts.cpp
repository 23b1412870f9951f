// What does not grow and may still be worth a change: peaks, churn, what is kept to the end, caches, bloat.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

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

namespace {

// Allocations of a function whose blocks were freed soon after, as far as is known.
struct Churn {
  HeapSum allocated, passing;
  bool by_order = false;      // `passing` are those that were freed before the next allocation
  double share = 0;           // of the calls: those of `passing`
  double sampling_error = 0;  // of the number of calls
};

// nullopt: too few blocks pass, or too few calls are made for that to matter.
std::optional<Churn> churn_of(const HeapJudge& judge, const HeapTrack& track, double all_calls) {
  constexpr double kManyCalls_s = 10'000, kManyBytes_s = 64 << 20;
  const HeapHistory& history = judge.history;
  const double time = history.seconds();
  Churn churn;
  churn.allocated = track.sum(0, history.ends_s.size()).allocated;
  churn.by_order = !history.sampled && track.short_lived.blocks <= track.temporary.blocks;
  churn.passing = churn.by_order ? track.temporary : track.short_lived;
  churn.share = churn.allocated.blocks > 0 ? churn.passing.blocks / churn.allocated.blocks : 0;
  const bool moves_much = churn.allocated.bytes / time >= kManyBytes_s;
  const bool calls_much =
      churn.allocated.blocks / time >= kManyCalls_s && churn.allocated.blocks >= 0.05 * all_calls;
  if (churn.share < 0.5 || (!moves_much && !calls_much)) return std::nullopt;
  HeapAmount sampled;
  for (const HeapSiteId site : track.sites) sampled.add(judge.sums.sites()[site.value].allocated.blocks);
  if (sampled.error() > sampled.value) return std::nullopt;  // chance
  churn.sampling_error = sampled.value > 0 ? sampled.error() / sampled.value : 0;
  return churn;
}

void add_allocator_cpu(HeapVerdict& verdict, const HeapJudge& judge, const HeapTrack& track) {
  const auto& cpu = judge.cpu;
  if (!cpu) {
    verdict.doubts.push_back({Doubt::kCpuUnknown});
    return;
  }
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
}

HeapVerdict churn_verdict(const HeapJudge& judge, const HeapTrack& track, const Churn& churn,
                          double all_calls) {
  const double time = judge.history.seconds();
  const HeapSum& allocated = churn.allocated;
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kChurn, &track);
  verdict.bytes = allocated.bytes;
  number(verdict, "calls_per_s", allocated.blocks / time);
  number(verdict, "bytes_per_s", allocated.bytes / time);
  number(verdict, churn.by_order ? "temporary_percent" : "short_lived_percent", 100 * churn.share);
  verdict.shares.push_back(judge.share_of(track, allocated.bytes, allocated.bytes));
  verdict.facts.place = judge.place(track);
  verdict.facts.calls_per_s = allocated.blocks / time;
  verdict.facts.bytes_per_s = allocated.bytes / time;
  verdict.facts.calls_share = std::min(1.0, all_calls > 0 ? allocated.blocks / all_calls : 0);
  verdict.facts.passing_share = std::min(1.0, churn.share);
  verdict.facts.by_order = churn.by_order;
  if (churn.sampling_error > 0.25) verdict.doubts.push_back({Doubt::kFewSampledCalls, churn.sampling_error});
  add_allocator_cpu(verdict, judge, track);
  verdict.advice = {Advice::kKeepBuffer};
  return verdict;
}

// Where no function of its own explains the CPU time of the allocators.
HeapVerdict allocator_cpu_verdict(const HeapJudge& judge, double all_calls) {
  const HeapHistory& history = judge.history;
  const auto& cpu = judge.cpu;
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kChurn, nullptr);
  verdict.bytes = history.whole.sum(0, history.ends_s.size()).allocated.bytes;
  verdict.facts.calls_per_s = all_calls / history.seconds();
  number(verdict, "calls_per_s", verdict.facts.calls_per_s);
  number(verdict, "allocator_cpu_percent", 100 * cpu->share());
  verdict.facts.cpu_share = cpu->share();
  verdict.facts.cpu_error = cpu->interval().half_width();
  for (std::size_t i = 0; i < std::min<std::size_t>(2, cpu->functions.size()); ++i)
    verdict.facts.cpu_for.emplace_back(cpu->functions[i].name, static_cast<double>(cpu->functions[i].inside) /
                                                                   static_cast<double>(cpu->inside));
  verdict.advice = {Advice::kShowCalls};
  return verdict;
}

// What a function holds that neither grows nor falls, in the time in which it was level.
struct SteadyTrack {
  const HeapTrack& track;
  const Trend& trend;
  HeapSum live = {};
  double share = 0;  // of all live bytes
  double level_from_s = 0, level_s = 0;
  HeapCell flow = {};
  double replaced = 0;      // times
  double unseen_per_s = 0;  // below this a leak inside of it looks the same
  bool level() const { return trend.shape == TrendShape::kPlateau; }
};

std::optional<SteadyTrack> steady_track(const HeapJudge& judge, std::size_t function, double all_bytes) {
  const HeapHistory& history = judge.history;
  SteadyTrack steady{.track = history.functions[function], .trend = judge.trends[function]};
  const HeapTrack& track = steady.track;
  const Trend& trend = steady.trend;
  steady.live = track.live_before(history.end_of_work);
  steady.share = all_bytes > 0 ? steady.live.bytes / all_bytes : 0;
  const bool may_be_steady = trend.shape == TrendShape::kPlateau || trend.shape == TrendShape::kNoise;
  // A slope above zero is growth, and growth is neither a cache nor bloat, unless it has ended.
  const bool rises = trend.slope.known && trend.slope.low > 0 && !trend.level_at_last;
  if (steady.live.bytes < 64 * 1024 || steady.share < 0.1 || !may_be_steady || rises) return std::nullopt;
  steady.level_from_s = history.start_s + trend.warm_up_s;
  steady.level_s = trend.duration_s - trend.warm_up_s;
  const auto from = static_cast<std::size_t>(
      std::lower_bound(history.ends_s.begin(), history.ends_s.end(), steady.level_from_s - 1e-9) -
      history.ends_s.begin());
  const std::size_t first = std::min(trend.warm_up_s > 0 ? from + 1 : from, history.end_of_work);
  steady.flow = track.sum(first, history.end_of_work);
  steady.replaced = std::min(steady.flow.allocated.bytes, steady.flow.freed.bytes) / steady.live.bytes;
  steady.unseen_per_s = std::max(judge.unseen_growth(track, trend, steady.live.bytes),
                                 trend.slope.known ? 0 : steady.live.bytes / steady.level_s);
  return steady;
}

// Blocks that are replaced by others, after a while. False: they are not.
bool make_cache(HeapVerdict& verdict, const HeapJudge& judge, const SteadyTrack& steady) {
  const HeapCell& flow = steady.flow;
  const double mean_life_s = flow.freed.bytes > 0 ? steady.live.bytes / flow.freed.bytes * steady.level_s : 0;
  const double short_lived =
      flow.allocated.blocks > 0 ? steady.track.short_lived.blocks / flow.allocated.blocks : 0;
  // A container that is made larger gives back what it had: that is no replacement of blocks by others.
  const bool is_container = steady.live.blocks < 8 && judge.growth_in_room(steady.track) > 0;
  if (is_container || steady.replaced < 0.25 || short_lived >= 0.5 || mean_life_s <= 0.01) return false;
  number(verdict, "mean_life_s", mean_life_s);
  verdict.facts.replaced = steady.replaced;
  verdict.facts.level_s = steady.level_s;
  verdict.facts.mean_life_s = mean_life_s;
  if (!steady.level()) verdict.doubts.push_back({Doubt::kNotLevel});
  number(verdict, "unseen_bytes_per_s", steady.unseen_per_s);
  verdict.advice = {steady.level() ? Advice::kChangeLimit : Advice::kMayGrow, steady.unseen_per_s,
                    steady.level_s};
  return true;
}

// Blocks that stay. False: they do not, or a leak may be among them.
bool make_bloat(HeapVerdict& verdict, const HeapJudge& judge, const SteadyTrack& steady) {
  const bool is_sure = steady.unseen_per_s * steady.level_s < 0.5 * steady.live.bytes;
  if (steady.replaced >= 0.1 || !steady.level() || !is_sure) return false;
  verdict.kind = HeapVerdictKind::kBloat;
  const double mean = steady.live.blocks > 0 ? steady.live.bytes / steady.live.blocks : 0;
  const Sizes sizes = sizes_of(judge, steady.track);
  number(verdict, "mean_bytes", mean);
  number(verdict, "unseen_bytes_per_s", steady.unseen_per_s);
  verdict.facts.unseen_bytes_per_s = steady.unseen_per_s;
  verdict.facts.unseen_in_s = steady.level_s;
  verdict.facts.blocks = steady.live.blocks;
  verdict.facts.mean_bytes = mean;
  if (sizes.largest_share > 0)
    verdict.evidence.push_back({Evidence::kMostlyOfSize, sizes.largest_share, sizes.largest_from,
                                std::max(1.0, 2 * sizes.largest_from)});
  verdict.evidence.push_back(steady.flow.freed.bytes <= 0
                                 ? HeapEvidence{Evidence::kReplacedNone, steady.level_s}
                                 : HeapEvidence{Evidence::kReplacedShare, steady.replaced, steady.level_s});
  verdict.advice = {mean >= 32 * 1024 ? Advice::kFewHuge : Advice::kManySmall};
  return true;
}

}  // namespace

void judge_churn(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const double time = history.seconds();
  if (!(time > 0)) return;
  const double all_calls = history.whole.sum(0, history.ends_s.size()).allocated.blocks;
  bool any = false;
  for (const HeapTrack& track : history.functions) {
    const auto churn = churn_of(judge, track, all_calls);
    if (!churn) continue;
    any = true;
    out.push_back(churn_verdict(judge, track, *churn, all_calls));
    settle(out.back());
  }
  const auto& cpu = judge.cpu;
  if (any || !cpu || judge.profile.meta.frequency_hz == 0) return;
  // Of a program that hardly runs, no share matters.
  const double cpus = static_cast<double>(cpu->inside) / judge.profile.meta.frequency_hz / time;
  if (cpu->interval().low <= 0.03 || cpus <= 0.01) return;
  out.push_back(allocator_cpu_verdict(judge, all_calls));
  settle(out.back());
}

void judge_steady(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const double all = history.whole.live_before(history.end_of_work).bytes;
  for (std::size_t i = 0; i < history.functions.size(); ++i) {
    const auto steady = steady_track(judge, i, all);
    if (!steady) continue;
    const Trend& trend = steady->trend;
    HeapVerdict verdict = judge.verdict(HeapVerdictKind::kCache, &steady->track);
    verdict.bytes = steady->live.bytes;
    verdict.trend = trend;
    number(verdict, "live_bytes", steady->live.bytes);
    number(verdict, "live_blocks", steady->live.blocks);
    number(verdict, "live_share_percent", 100 * steady->share);
    number(verdict, "replaced_times", steady->replaced);
    verdict.shares.push_back(judge.share_of(steady->track, steady->live.bytes, all));
    verdict.facts.place = judge.place(steady->track);
    verdict.facts.level = steady->level();
    verdict.facts.live_share = std::min(1.0, steady->share);
    if (trend.warm_up_s > 0) verdict.facts.since_s = steady->level_from_s;
    if (trend.slope.known) verdict.evidence.push_back({Evidence::kSlope, trend.slope.low, trend.slope.high});
    if (!make_cache(verdict, judge, *steady) && !make_bloat(verdict, judge, *steady)) continue;
    if (trend.duration_s < 60) verdict.doubts.push_back({Doubt::kFewSeconds, trend.duration_s});
    doubt_few_samples(verdict);
    if (!history.from_start && history.from_zero) verdict.evidence.push_back({Evidence::kSinceStartOnly});
    settle(verdict);
    out.push_back(std::move(verdict));
  }
}

}  // namespace fathom::analysis
