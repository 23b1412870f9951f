// What does not grow and may still be worth a change: peaks, churn, what is kept to the end, caches, bloat.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/core/words.h"
#include "analysis/verdicts/heap_judge.h"

namespace fathom::analysis {
namespace {

using namespace model;

void number(HeapVerdict& verdict, const char* name, double value) {
  verdict.numbers.emplace_back(name, value);
}

// The shares that matter, most first, as "83.0 % by parse in server, 12.1 % by load in server".
std::string list_shares(HeapVerdict& verdict, std::vector<HeapShare> shares, double least) {
  std::sort(shares.begin(), shares.end(),
            [](const HeapShare& a, const HeapShare& b) { return a.bytes > b.bytes; });
  std::string text;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].share < least) break;
    if (i < 3)
      text += fmt::format("{}{} by {}{}", i == 0 ? "" : ", ", percent(std::min(1.0, shares[i].share)),
                          printable(shares[i].name),
                          shares[i].module.empty() ? "" : " in " + printable(shares[i].module));
    verdict.shares.push_back(shares[i]);
  }
  return text;
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
  const std::string by = list_shares(verdict, std::move(shares), 0.05);
  if (!verdict.shares.empty()) {
    verdict.function = verdict.shares.front().name;
    verdict.module = verdict.shares.front().module;
  }
  verdict.sentence =
      fmt::format("Peak of {} at {}{}, {}{}.", bytes(height), seconds(at_s),
                  late    ? ", shortly before the end"
                  : early ? ", at the start"
                          : "",
                  level > 0 ? fmt::format("{:.1f} times the usual {}", height / level, bytes(level))
                            : "where nothing is usual",
                  by.empty() ? "" : "; what is more than usual: " + by);
  verdict.evidence.push_back(
      history.sampled     ? fmt::format("its height is ±{} by sampling", bytes(peak.total.bytes.error()))
      : peak.exact        ? "its height is exact to the event"
      : peak.to_slice_end ? "its height is that at the end of a slice of time"
                          : "its height is that of what was recorded");
  if (late && !history.ended) verdict.doubts.push_back("it may have gone on rising after the recording");
  if (peak.total.bytes.error() > 0.25 * excess) verdict.doubts.push_back("few of its blocks were sampled");
  verdict.advice =
      "memory limits are met by peaks: fathom flamegraph FILE --metric heap-peak -o peak.svg shows its "
      "stacks";
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
  const auto add = [&](HeapVerdictKind kind, const auto& of_track, double all, auto sentence) {
    HeapVerdict verdict = judge.verdict(kind, nullptr);
    verdict.bytes = all;
    number(verdict, "bytes", all);
    number(verdict, "shutdown_s", tail_s);
    std::vector<HeapShare> shares;
    for (const HeapTrack& track : history.functions)
      if (const double value = of_track(track); value > 0)
        shares.push_back(judge.share_of(track, value, all));
    const std::string by = list_shares(verdict, std::move(shares), 0.02);
    if (!verdict.shares.empty()) {
      verdict.function = verdict.shares.front().name;
      verdict.module = verdict.shares.front().module;
    }
    sentence(verdict, by.empty() ? "" : "; " + by);
    if (history.seconds() > 0 && tail_s > 0.1 * history.seconds())
      verdict.doubts.push_back(fmt::format("the last slice of time is {} long", seconds(tail_s)));
    settle(verdict);
    out.push_back(std::move(verdict));
  };
  const double freed = before.bytes - left.bytes;
  if (freed >= 16 * 1024 && freed >= 0.05 * before.bytes)
    add(
        HeapVerdictKind::kFreedAtExit,
        [&](const HeapTrack& track) {
          return track.live_before(history.end_of_work).bytes - track.live_before(cells).bytes;
        },
        freed,
        [&](HeapVerdict& verdict, const std::string& by) {
          verdict.sentence = fmt::format(
              "Freed only when the program ended: {} in {} were live until the last {} of the run{}.",
              bytes(freed), blocks_text(before.blocks - left.blocks), seconds(tail_s), by);
          verdict.evidence.push_back(
              fmt::format("{} in {} were never freed", bytes(left.bytes), blocks_text(left.blocks)));
          verdict.advice =
              "leak checkers are silent about it, a server would hold it for ever: see whether it was needed "
              "to the end, with fathom report FILE --metric heap-live --until SECONDS";
        });
  if (left.bytes >= 16 * 1024)
    add(
        HeapVerdictKind::kUnfreed, [&](const HeapTrack& track) { return track.live_before(cells).bytes; },
        left.bytes,
        [&](HeapVerdict& verdict, const std::string& by) {
          verdict.sentence = fmt::format("Not freed when the program ended: {} in {}{}.", bytes(left.bytes),
                                         blocks_text(left.blocks), by);
          verdict.evidence.push_back("alone this is no leak: what is needed to the end need not be freed");
          verdict.advice =
              "fathom report FILE --metric heap-leaked lists all of it; what grows is named above";
        });
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
    verdict.sentence = fmt::format(
        "Churn: {} allocates {} times and {} a second, {} of all calls; {} of its blocks are freed {}.",
        judge.place(track), with_commas(std::llround(std::min(calls, 9e15))), bytes(allocated.bytes / time),
        percent(std::min(1.0, all_calls > 0 ? allocated.blocks / all_calls : 0)),
        percent(std::min(1.0, share)), by_order ? "before its thread allocates again" : "within 1 ms");
    if (sampled.error() > 0.25 * sampled.value)
      verdict.doubts.push_back(fmt::format("few of its blocks were sampled: ±{} of its calls",
                                           percent(sampled.error() / sampled.value)));
    if (cpu) {
      std::int64_t inside = 0;
      for (const AllocatorCpuRow& row : cpu->functions)
        if (row.name == track.name && row.module == track.module) inside += row.inside;
      number(verdict, "allocator_cpu_percent", 100 * cpu->share());
      verdict.evidence.push_back(
          cpu->inside < 20
              ? fmt::format("the allocators were seen in {} of {} CPU samples", cpu->inside, cpu->total)
              : fmt::format("the allocators take {} ±{} of all CPU time, {} of that for this function",
                            percent(cpu->share()), percent(cpu->interval().half_width()),
                            percent(static_cast<double>(inside) / static_cast<double>(cpu->inside))));
      if (cpu->interval().high < 0.02) verdict.doubts.push_back("it costs next to nothing");
    } else {
      verdict.doubts.push_back("CPU was not recorded beside it: what it costs is not known");
    }
    verdict.advice = fmt::format(
        "keep the buffer, reserve its size, or use an arena: fathom flamegraph FILE --metric {} -o "
        "churn.svg shows who",
        "heap-temporary");
    settle(verdict);
    out.push_back(std::move(verdict));
  }
  if (!costs || any) return;
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kChurn, nullptr);
  verdict.bytes = history.whole.sum(0, history.ends_s.size()).allocated.bytes;
  number(verdict, "calls_per_s", all_calls / time);
  number(verdict, "allocator_cpu_percent", 100 * cpu->share());
  std::string by;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, cpu->functions.size()); ++i)
    by +=
        fmt::format("{}{} of it for {}", i == 0 ? "; " : ", ",
                    percent(static_cast<double>(cpu->functions[i].inside) / static_cast<double>(cpu->inside)),
                    printable(cpu->functions[i].name));
  verdict.sentence = fmt::format("The allocators take {} ±{} of all CPU time for {} calls a second{}.",
                                 percent(cpu->share()), percent(cpu->interval().half_width()),
                                 with_commas(std::llround(std::min(all_calls / time, 9e15))), by);
  verdict.advice = "fathom flamegraph FILE --metric heap-allocations -o calls.svg shows who calls so often";
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
    const std::string since =
        trend.warm_up_s > 0 ? fmt::format("since {}", seconds(level_from)) : std::string("all the time");
    if (trend.slope.known)
      verdict.evidence.push_back(
          fmt::format("slope {} to {} (95 %)", rate(trend.slope.low), rate(trend.slope.high)));
    if (replaced >= 0.25 && short_lived < 0.5 && mean_life > 0.01) {
      number(verdict, "mean_life_s", mean_life);
      verdict.sentence = fmt::format(
          "{}: {} holds {} ({} of what is live), {} {}, while its blocks are replaced: {:.1f} times in {}, "
          "after "
          "{} on average.",
          level ? "Bounded cache" : "Cache", judge.place(track), bytes(live.bytes),
          percent(std::min(1.0, share)), level ? "level" : "up and down", since, replaced, seconds(level_s),
          seconds(mean_life));
      if (!level) verdict.doubts.push_back("it swings too much to be called level");
      verdict.advice = "no leak; if it is too large, its limit is what to change";
    } else if (replaced < 0.1 && level) {
      verdict.kind = HeapVerdictKind::kBloat;
      const double mean = live.blocks > 0 ? live.bytes / live.blocks : 0;
      const Sizes sizes = sizes_of(judge, track);
      number(verdict, "mean_bytes", mean);
      const bool few = mean >= 32 * 1024;
      verdict.sentence = fmt::format(
          "Large and rarely changing: {} holds {} ({} of what is live) in {} of {} on average, {} "
          "{}.",
          judge.place(track), bytes(live.bytes), percent(std::min(1.0, share)), blocks_text(live.blocks),
          bytes(mean), "level", since);
      if (sizes.largest_share > 0)
        verdict.evidence.push_back(fmt::format("{} of its bytes are in blocks of {} to {}",
                                               percent(sizes.largest_share), bytes(sizes.largest_from),
                                               bytes(std::max(1.0, 2 * sizes.largest_from))));
      verdict.evidence.push_back(
          flow.freed.bytes <= 0
              ? fmt::format("none of it was replaced in {}", seconds(level_s))
              : fmt::format("{} of it was replaced in {}", percent(replaced), seconds(level_s)));
      verdict.advice =
          few ? "few huge blocks: does all of it have to be in memory, or can it be mapped, loaded "
                "on demand or freed after the start?"
              : "many small blocks: allocators add 8 to 16 bytes and rounding to each; arrays or an "
                "arena hold the same in less";
    } else {
      continue;
    }
    if (trend.duration_s < 60)
      verdict.doubts.push_back(fmt::format("only {} were recorded", seconds(trend.duration_s)));
    if (!history.from_start && history.from_zero)
      verdict.evidence.push_back("of blocks since the start of the recording only");
    settle(verdict);
    out.push_back(std::move(verdict));
  }
}

}  // namespace fathom::analysis
