// Growing or not: of the whole heap, and of each function whose blocks grow.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "analysis/verdicts/heap_judge.h"
#include "model/heap_ends.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kLeastGrowthBytes = 1024, kLeastGrowthBlocks = 8;
constexpr double kLeastShareOfGrowth = 0.005;    // of the growth of the whole heap
constexpr double kLongEnoughForServers_s = 60;   // for servers, whose work comes in waves of seconds
constexpr double kVisibleInRss = 1 << 20;        // allocators hold more than that back
constexpr double kVisibleFromOutside = 8 << 20;  // more than stacks, libraries and allocators take in passing

using Evidence = HeapEvidenceKind;
using Doubt = HeapDoubtKind;
using Advice = HeapAdviceKind;

// Older than a quarter of the window, of what is live at the end; nothing where that is not known.
std::optional<HeapEvidence> age_of(const HeapJudge& judge, const HeapTrack& track) {
  if (!judge.history.to_end || judge.history.ended) return std::nullopt;
  std::vector<char> wanted(judge.profile.heap.sites.size());
  for (const HeapSiteId site : track.sites) wanted[site.value] = 1;
  int first = 0;  // bucket
  while (first < 62 && std::ldexp(1e-9, first) <= judge.history.seconds() / 4) ++first;
  if (first == 0) return std::nullopt;
  double all = 0, old = 0;
  for (const HeapHistogram& row : judge.profile.heap.histograms) {
    if (row.kind != HeapHistogramKind::kAge || wanted[row.site.value] == 0) continue;
    all += row.sum.blocks;
    if (row.bucket >= first) old += row.sum.blocks;
  }
  if (!(all > 0)) return std::nullopt;
  return HeapEvidence{Evidence::kOld, old / all, std::ldexp(1e-9, first - 1)};
}

// nullptr where the verdict has no number of this name.
double* number_in(HeapVerdict& verdict, std::string_view name) {
  for (auto& [known, value] : verdict.numbers)
    if (known == name) return &value;
  return nullptr;
}

// A bucket's upper end, in seconds, that this share of all blocks of the kind is below; 0: there are too few.
double quantile_of(const HeapJudge& judge, const HeapTrack& track, HeapHistogramKind kind, double share) {
  constexpr double kFew = 8;
  std::vector<char> wanted(judge.profile.heap.sites.size());
  for (const HeapSiteId site : track.sites) wanted[site.value] = 1;
  std::array<double, 65> buckets{};
  double all = 0;
  for (const HeapHistogram& row : judge.profile.heap.histograms) {
    if (row.kind != kind || wanted[row.site.value] == 0) continue;
    buckets[std::min<std::size_t>(row.bucket, 64)] += row.sum.blocks;
    all += row.sum.blocks;
  }
  if (all < kFew) return 0;
  double sum = 0;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
    if ((sum += buckets[bucket]) >= share * all) return std::ldexp(1e-9, static_cast<int>(bucket));
  return 0;
}

// Blocks that live far longer than those ever did that were freed are not on their way to be freed as well. Ages and lives
// are known to a factor of two.
std::optional<HeapEvidence> outlives(HeapVerdict& verdict, const HeapJudge& judge, const HeapTrack& track) {
  if (!judge.history.to_end || judge.history.ended) return std::nullopt;
  const double age = quantile_of(judge, track, HeapHistogramKind::kAge, 0.5) / 2,
               life = quantile_of(judge, track, HeapHistogramKind::kLifetime, 0.9);
  if (!(age > 0) || !(life > 0)) return std::nullopt;
  verdict.numbers.emplace_back("median_age_s", age);
  verdict.numbers.emplace_back("freed_lived_s", life);
  return HeapEvidence{Evidence::kOutlive, age, life};
}

void add_trend(HeapVerdict& verdict, const Trend& trend) {
  verdict.trend = trend;
  verdict.evidence.push_back(
      {Evidence::kLine, trend.slope.r2, trend.duration_s - trend.warm_up_s, trend.warm_up_s});
  verdict.evidence.push_back(
      {Evidence::kNoPlateau, trend.late_rise, trend.late_rise_error, trend.new_maximum ? 1.0 : 0.0});
  if (trend.duration_s < kLongEnoughForServers_s)
    verdict.doubts.push_back({Doubt::kFewSeconds, trend.duration_s});
  if (trend.late_rise <= trend.late_rise_error) verdict.doubts.push_back({Doubt::kLateThirdIsFlat});
  if (trend.slope.r2 < 0.5) verdict.doubts.push_back({Doubt::kNotAlongLine});
}

void add_work(HeapVerdict& verdict, const HeapJudge& judge) {
  if (!judge.calls.known) {
    verdict.doubts.push_back({Doubt::kWorkUnknown});
    return;
  }
  verdict.facts.work_ratio = judge.calls.ratio;
  verdict.evidence.push_back(
      {Evidence::kWork, judge.calls.ratio, judge.cpu_use.known ? judge.cpu_use.ratio : -1.0});
  number(verdict, "work_ratio", judge.calls.ratio);
  if (judge.cpu_use.known) number(verdict, "cpu_ratio", judge.cpu_use.ratio);
}

// Next to the live bytes, if it was recorded and not mentioned already.
void add_rss(HeapVerdict& verdict, const HeapJudge& judge) {
  if (!judge.rss_known) return;
  if (number_in(verdict, "rss_bytes_per_s") == nullptr) number(verdict, "rss_bytes_per_s", judge.rss_per_s);
  const bool said =
      std::ranges::any_of(verdict.evidence,
                          [](const HeapEvidence& of) {
                            return of.kind == Evidence::kRssGrew || of.kind == Evidence::kRssDidNot;
                          }) ||
      std::ranges::any_of(verdict.doubts, [](const HeapDoubt& of) {
        return of.kind == Doubt::kRssHardlyChanged || of.kind == Doubt::kRssGrew;
      });
  if (!said) verdict.evidence.push_back({Evidence::kRssDidNot, judge.rss_per_s});
}

// What the process as a whole shows of a growth, and whether that takes it back: attached recordings see new
// blocks come, and not the old ones that go.
bool is_turnover(HeapVerdict& verdict, const HeapJudge& judge, const Trend& trend) {
  const double growth = trend.growth();
  // Parts of the heap can be judged by the whole process only where they are most of it.
  const bool is_most = growth >= 0.5 * std::max(judge.growth, 0.0);
  const bool is_visible = judge.rss_known && trend.slope.per_s * judge.rss_seconds >= kVisibleInRss;
  if (is_visible) {
    number(verdict, "rss_bytes_per_s", judge.rss_per_s);
    if (judge.rss_per_s >= 0.5 * trend.slope.per_s) {
      verdict.evidence.push_back({Evidence::kRssGrew, judge.rss_per_s});
      return false;
    }
  }
  if (judge.history.from_start) return false;
  if (is_visible && is_most && judge.rss_per_s < 0.25 * trend.slope.per_s) {
    verdict.evidence.push_back({Evidence::kRssDidNot, judge.rss_per_s});
    return true;
  }
  double earlier_frees = 0;
  bool exact = true;
  for (const Heap& heap : judge.profile.heap.heaps) {
    if (heap.process != judge.history.process) continue;
    earlier_frees += static_cast<double>(heap.earlier_frees);
    exact = exact && heap.mode == HeapMode::kExact;
  }
  const HeapCell all = judge.history.whole.sum(0, judge.history.end_of_work);
  const double grown_blocks = all.allocated.blocks - all.freed.blocks;
  if (exact && judge.history.from_zero && is_most && earlier_frees > 0.75 * grown_blocks) {
    verdict.evidence.push_back({Evidence::kReplaced, earlier_frees, grown_blocks});
    return true;
  }
  if (!is_visible)
    verdict.doubts.push_back({Doubt::kOlderUnseen});
  else
    verdict.doubts.push_back({Doubt::kRssHardlyChanged, judge.rss_per_s});
  return false;
}

void numbers_of(HeapVerdict& verdict, const Trend& trend) {
  number(verdict, "bytes_per_s", trend.slope.per_s);
  number(verdict, "bytes_per_s_low", trend.slope.low);
  number(verdict, "bytes_per_s_high", trend.slope.high);
  number(verdict, "growth_bytes", trend.growth());
}

// What is not seen to go on may fill up to a limit. That the work slows as well is no answer: a cache that has what
// it is asked for allocates less.
void make_may_level(HeapVerdict& verdict, const Trend& trend) {
  verdict.kind = HeapVerdictKind::kMayLevel;
  verdict.facts.slowing = trend.slowing;
  verdict.facts.early_per_s = trend.early_per_s;
  verdict.facts.late_per_s = std::max(0.0, trend.late_per_s);
  number(verdict, "early_bytes_per_s", verdict.facts.early_per_s);
  number(verdict, "late_bytes_per_s", verdict.facts.late_per_s);
  verdict.doubts.push_back({Doubt::kMayGoOn});
  verdict.advice = {Advice::kRecordLonger, std::ceil(3 * trend.duration_s)};
}

// Of a function, or of one of its stacks.
void judge_track(const HeapJudge& judge, const HeapTrack& track, const Trend& trend, bool is_stack,
                 std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const HeapCell all = track.sum(0, history.end_of_work);
  const HeapSum live = track.live_before(history.end_of_work);
  if (trend.shape == TrendShape::kSteps) {
    const double rise = trend.last - trend.first;
    if (rise < std::max(64.0 * 1024, 0.05 * judge.whole.last)) return;
    HeapVerdict verdict = judge.verdict(HeapVerdictKind::kSteps, &track);
    verdict.bytes = rise;
    verdict.trend = trend;
    verdict.shares.push_back(judge.share_of(track, rise, rise));
    number(verdict, "growth_bytes", rise);
    number(verdict, "steps", trend.steps);
    verdict.facts.place = judge.place(track, is_stack);
    verdict.doubts = {{Doubt::kFewStepsTellNothing}, {Doubt::kAfterLastStep}};
    verdict.advice = {Advice::kRecordLonger, std::ceil(3 * trend.duration_s)};
    add_rss(verdict, judge);
    settle(verdict);
    out.push_back(std::move(verdict));
    return;
  }
  const bool rises =
      trend.shape == TrendShape::kGrowing || (trend.shape == TrendShape::kNoise && trend.rises);
  if (!rises || trend.growth() < std::max(kLeastGrowthBytes, kLeastShareOfGrowth * judge.growth) ||
      (!history.sampled && all.allocated.blocks < kLeastGrowthBlocks))
    return;
  const double growth = trend.growth();
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kLeak, &track);
  verdict.facts.place = judge.place(track, is_stack);
  verdict.bytes = growth;
  numbers_of(verdict, trend);
  verdict.shares = judge.stacks_of(track, growth);
  if (judge.growth > 0) {
    const double of_all = std::min(1.0, growth / judge.growth);
    number(verdict, "growth_share_percent", 100 * of_all);
    verdict.facts.growth_share = of_all;
  }
  add_trend(verdict, trend);
  const double freed = all.allocated.blocks > 0 ? all.freed.blocks / all.allocated.blocks : 0;
  number(verdict, "freed_percent", 100 * freed);
  verdict.evidence.push_back(
      {all.freed.blocks <= 0 ? Evidence::kNoneFreed : Evidence::kSomeFreed, all.allocated.blocks, freed});
  if (live.blocks >= 1 && live.blocks < kLeastGrowthBlocks)
    verdict.evidence.push_back({Evidence::kFewHoldAll, live.blocks});
  if (const auto age = age_of(judge, track)) verdict.evidence.push_back(*age);
  if (const auto lives = outlives(verdict, judge, track)) verdict.evidence.push_back(*lives);
  add_work(verdict, judge);
  // What the later half holds more than the earlier one, against what it does more.
  const std::vector<TrendPoint> points = history.live(track, history.end_of_work);
  double first = 0, second = 0;
  for (std::size_t i = 0; i < points.size(); ++i) (i < points.size() / 2 ? first : second) += points[i].value;
  const double held = first > 0 ? second / first : 1e9;
  const bool with_work = judge.calls.grows && judge.calls.ratio - 1 >= 0.5 * (held - 1);
  if (is_turnover(verdict, judge, trend)) {
    verdict.kind = HeapVerdictKind::kTurnover;
    verdict.advice = {Advice::kFromBefore};
  } else if (with_work) {
    verdict.kind = HeapVerdictKind::kGrowsWithWork;
    verdict.advice = {Advice::kSteadyLoad};
  } else if (!trend.goes_on || trend.shape == TrendShape::kNoise) {
    make_may_level(verdict, trend);
  } else {
    if (history.ended) {
      const double left = track.live_before(history.ends_s.size()).bytes;
      const double at_exit = std::max(0.0, live.bytes - left);
      number(verdict, "freed_at_exit_bytes", at_exit);
      if (at_exit > 0.5 * live.bytes) verdict.evidence.push_back({Evidence::kFreedAtExit, at_exit});
    }
    verdict.advice = {Advice::kShowCallers};
  }
  if (history.sampled && trend.late_rise_error > 0.5 * growth) verdict.doubts.push_back({Doubt::kFewSampled});
  add_rss(verdict, judge);
  settle(verdict);
  out.push_back(std::move(verdict));
}

// Samples of the heap swing; what the kernel counts of the process does not. Where its growth is certain and no larger
// than what the samples can hide, the process grows, and sampling alone does not show where.
bool is_hidden_growth(const HeapJudge& judge, double unseen_per_s) {
  const Trend& rss = judge.rss;
  return judge.history.sampled && judge.rss_known && rss.shape == TrendShape::kGrowing && rss.slope.low > 0 &&
         rss.growth() >= kVisibleInRss && rss.slope.low <= unseen_per_s;
}

void make_growth_of_process(HeapVerdict& verdict, const HeapJudge& judge) {
  verdict.kind = HeapVerdictKind::kGrowing;
  verdict.trend = judge.rss;
  verdict.bytes = judge.rss.growth();
  verdict.facts.of_process = true;
  numbers_of(verdict, judge.rss);
  add_trend(verdict, judge.rss);
  if (!judge.rss.goes_on) make_may_level(verdict, judge.rss);
  verdict.doubts.push_back({Doubt::kFewSampled});
  verdict.advice = {Advice::kSampleFiner};
}

// A longer time would have no more points: what grew is all that can be said.
void judge_ends(HeapVerdict& verdict, const HeapJudge& judge) {
  const HeapHistory& history = judge.history;
  const HeapCell change = history.whole.sum(0, history.whole.cells.size());
  // Blocks that came and went change nothing, and rows that were added up do not say which these were: then the errors of what is live at
  // both ends are the smaller bound.
  const double variance = std::min(
      change.change_variance, history.whole.before.bytes.variance + judge.sums.total().live.bytes.variance);
  verdict.facts.change_bytes = change.allocated.bytes - change.freed.bytes;
  verdict.facts.change_error = 1.959964 * std::sqrt(std::max(0.0, variance));
  verdict.facts.level_bytes = history.whole.live_before(history.whole.cells.size()).bytes;
  verdict.bytes = *verdict.facts.change_bytes;
  number(verdict, "change_bytes", verdict.bytes);
  verdict.advice = {verdict.bytes > verdict.facts.change_error ? Advice::kShowGrowth : Advice::kShowLive};
}

// Servers have periods of minutes.
void doubt_few_seconds(HeapVerdict& verdict, const Trend& trend) {
  if (trend.duration_s < kLongEnoughForServers_s)
    verdict.doubts.push_back({Doubt::kFewSeconds, trend.duration_s});
}

void judge_whole_growing(HeapVerdict& verdict, const HeapJudge& judge) {
  const Trend& trend = judge.whole;
  verdict.kind = HeapVerdictKind::kGrowing;
  verdict.bytes = trend.growth();
  numbers_of(verdict, trend);
  for (std::size_t i = 0; i < judge.history.functions.size(); ++i)
    if (const double growth = judge.trends[i].growth(); growth > 0.02 * trend.growth())
      verdict.shares.push_back(judge.share_of(judge.history.functions[i], growth, trend.growth()));
  std::sort(verdict.shares.begin(), verdict.shares.end(),
            [](const HeapShare& a, const HeapShare& b) { return a.bytes > b.bytes; });
  add_trend(verdict, trend);
  add_work(verdict, judge);
  if (is_turnover(verdict, judge, trend)) {
    verdict.kind = HeapVerdictKind::kTurnover;
    verdict.advice = {Advice::kFromBefore};
  } else if (!trend.goes_on) {
    make_may_level(verdict, trend);
  } else {
    verdict.advice = {Advice::kShowGrowth};
  }
}

// The largest growth that the whole can hide. True: the process grows by as much, so the verdict is about that.
bool judge_hidden_growth(HeapVerdict& verdict, const HeapJudge& judge, double level) {
  const Trend& trend = judge.whole;
  verdict.facts.unseen_bytes_per_s = judge.unseen_growth(judge.history.whole, trend, level);
  verdict.facts.unseen_in_s = trend.duration_s - trend.warm_up_s;
  if (!is_hidden_growth(judge, verdict.facts.unseen_bytes_per_s)) return false;
  make_growth_of_process(verdict, judge);
  return true;
}

void judge_whole_plateau(HeapVerdict& verdict, const HeapJudge& judge, double level) {
  const Trend& trend = judge.whole;
  if (judge_hidden_growth(verdict, judge, level)) return;
  verdict.kind = HeapVerdictKind::kLevel;
  verdict.bytes = level;
  if (trend.warm_up_s > 0) verdict.facts.since_s = judge.history.start_s + trend.warm_up_s;
  if (trend.slope.known)
    verdict.evidence.push_back(
        {Evidence::kSlopeAndSwing, trend.slope.low, trend.slope.high, 2 * trend.swing});
  number(verdict, "unseen_bytes_per_s", verdict.facts.unseen_bytes_per_s);
  verdict.advice = {Advice::kShowLive};
  // What the allocators hold beyond live blocks, or untraced memory.
  if (judge.rss_known && judge.rss_per_s * judge.rss_seconds > std::max(kVisibleFromOutside, 0.1 * level))
    verdict.doubts.push_back({Doubt::kRssGrew, judge.rss_per_s});
  doubt_few_seconds(verdict, trend);
}

void judge_whole_falling(HeapVerdict& verdict, const Trend& trend) {
  verdict.kind = HeapVerdictKind::kFalling;
  verdict.bytes = -trend.growth();
  numbers_of(verdict, trend);
  verdict.advice = {Advice::kShowPeakMakeUp};
  doubt_few_seconds(verdict, trend);
}

void judge_whole_steps(HeapVerdict& verdict, const Trend& trend, double longer_s) {
  verdict.kind = HeapVerdictKind::kSteps;
  verdict.bytes = trend.last - trend.first;
  verdict.doubts = {{Doubt::kFewStepsTellNothing}, {Doubt::kAfterLastStep}};
  verdict.advice = {Advice::kRecordLonger, longer_s};
}

void judge_whole_noise(HeapVerdict& verdict, const HeapJudge& judge, double level) {
  const HeapHistory& history = judge.history;
  const Trend& trend = judge.whole;
  verdict.kind = HeapVerdictKind::kNoise;
  const double needed_s = std::max({trend.needed_s, 2 * trend.duration_s, 30.0});
  verdict.advice = needed_s < 7 * 86400 ? HeapAdvice{Advice::kGrowthTenth, std::ceil(needed_s)}
                                        : HeapAdvice{Advice::kJudgeFunctions};
  // Of what swings, how much is the throw of the dice.
  const double error = history.live(history.whole, history.end_of_work).back().variance;
  if (history.sampled && std::sqrt(error) > 0.5 * trend.swing) {
    verdict.evidence.push_back({Evidence::kSamplingSwings});
    verdict.advice = {Advice::kSampleFiner};
  }
  if (judge_hidden_growth(verdict, judge, level)) return;
  number(verdict, "needed_s", needed_s);
  number(verdict, "unseen_bytes_per_s", verdict.facts.unseen_bytes_per_s);
  verdict.doubts.push_back(
      {Doubt::kHidesGrowth, verdict.facts.unseen_bytes_per_s * verdict.facts.unseen_in_s});
  doubt_few_seconds(verdict, trend);
}

void judge_whole_too_short(HeapVerdict& verdict, const HeapJudge& judge, double longer_s) {
  verdict.facts.seconds = judge.history.seconds();
  if (judge.profile.meta.facts.contains(model::kHeapEndsFact)) return judge_ends(verdict, judge);
  verdict.facts.slices = judge.history.ends_s.size();
  verdict.advice = {Advice::kRecordLonger, longer_s};
  number(verdict, "needed_s", longer_s);
}

void judge_whole(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const Trend& trend = judge.whole;
  const double level = judge.usual_level(judge.history.whole);
  const double longer_s = std::ceil(std::max(30.0, trend.duration_s * 3));
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kTooShort, nullptr);
  verdict.trend = trend;
  verdict.facts.level_bytes = level;
  number(verdict, "live_bytes", level);
  // What an interval above zero says is growth, even where the last third alone does not show it.
  const bool rises =
      trend.slope.known && trend.slope.low > 0 &&
      (trend.shape == TrendShape::kNoise || (trend.shape == TrendShape::kPlateau && !trend.level_at_last));
  switch (rises ? TrendShape::kGrowing : trend.shape) {
    case TrendShape::kGrowing:
      judge_whole_growing(verdict, judge);
      break;
    case TrendShape::kPlateau:
      judge_whole_plateau(verdict, judge, level);
      break;
    case TrendShape::kFalling:
      judge_whole_falling(verdict, trend);
      break;
    case TrendShape::kSteps:
      judge_whole_steps(verdict, trend, longer_s);
      break;
    case TrendShape::kNoise:
      judge_whole_noise(verdict, judge, level);
      break;
    case TrendShape::kTooShort:
      judge_whole_too_short(verdict, judge, longer_s);
      break;
  }
  if (verdict.kind != HeapVerdictKind::kTooShort) add_rss(verdict, judge);
  settle(verdict);
  out.push_back(std::move(verdict));
}

// A part that certainly grows stays within what the whole can hide: then the whole is not known to be level.
void reconcile(std::vector<HeapVerdict>& out, std::size_t whole_at) {
  double most = 0;
  for (std::size_t i = whole_at + 1; i < out.size(); ++i)
    if (out[i].kind == HeapVerdictKind::kLeak && out[i].confidence != Confidence::kLow)
      most = std::max(most, out[i].trend->slope.high);
  HeapVerdict& whole = out[whole_at];
  if (most <= 0 || whole.kind != HeapVerdictKind::kLevel) return;
  whole.kind = HeapVerdictKind::kNoise;
  whole.facts.unseen_bytes_per_s = std::max(whole.facts.unseen_bytes_per_s, most);
  if (double* unseen = number_in(whole, "unseen_bytes_per_s")) *unseen = whole.facts.unseen_bytes_per_s;
  whole.doubts.insert(whole.doubts.begin(),
                      {Doubt::kHidesGrowth, whole.facts.unseen_bytes_per_s * whole.facts.unseen_in_s});
  whole.advice = {Advice::kJudgeFunctions};
  settle(whole);
}

}  // namespace

void judge_growth(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const std::size_t whole = out.size();
  judge_whole(judge, out);
  std::set<std::pair<std::string, std::string>> judged;
  for (std::size_t i = 0; i < history.functions.size(); ++i) {
    const std::size_t before = out.size();
    judge_track(judge, history.functions[i], judge.trends[i], false, out);
    if (out.size() != before) judged.emplace(history.functions[i].name, history.functions[i].module);
  }
  // A function that much of the program uses may hide the one caller whose blocks stay.
  for (std::size_t i = 0; i < history.stacks.size(); ++i) {
    const HeapTrack& track = history.stacks[i];
    const Trend& trend = judge.stack_trends[i];
    const bool rises =
        trend.shape == TrendShape::kGrowing || (trend.shape == TrendShape::kNoise && trend.rises);
    if (!judged.contains({track.name, track.module}) && rises)
      judge_track(judge, track, judge.stack_trends[i], true, out);
  }
  reconcile(out, whole);
}

}  // namespace fathom::analysis
