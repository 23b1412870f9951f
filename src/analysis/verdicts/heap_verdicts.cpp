#include "analysis/verdicts/heap_verdicts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/core/functions.h"
#include "analysis/core/runtimes.h"
#include "analysis/verdicts/heap_judge.h"
#include "base/stable_sort.h"
#include "model/facts.h"
#include "model/left_changed.h"
#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kGrownWork = 1.2;
constexpr std::size_t kPathLength = 8, kMostStacks = 5;
constexpr std::size_t kMostFramesToName = 256;  // up to a function with a name

// Second half of the work against the first, by values per second in cells.
WorkMeasure compare(const HeapHistory& history, const std::vector<double>& per_cell) {
  WorkMeasure measure;
  const double middle = history.start_s + history.work_seconds() / 2;
  std::array<double, 2> sums{}, times{};
  std::vector<TrendPoint> rates;
  double before = history.start_s;
  for (std::size_t i = 0; i < history.end_of_work; ++i) {
    const double length = history.ends_s[i] - before;
    const std::size_t half = before + length / 2 < middle ? 0 : 1;
    sums[half] += per_cell[i];
    times[half] += length;
    if (length > 0) rates.push_back({history.ends_s[i], per_cell[i] / length, 0});
    before = history.ends_s[i];
  }
  if (times[0] <= 0 || times[1] <= 0 || sums[0] <= 0) return measure;
  measure.known = true;
  measure.ratio = (sums[1] / times[1]) / (sums[0] / times[0]);
  measure.grows = measure.ratio >= kGrownWork && find_trend(rates).shape == TrendShape::kGrowing;
  return measure;
}

std::size_t cell_at(const HeapHistory& history, double at_s) {
  const auto end = std::lower_bound(history.ends_s.begin(), history.ends_s.end(), at_s);
  return std::min(history.ends_s.size() - 1, static_cast<std::size_t>(end - history.ends_s.begin()));
}

}  // namespace

std::string_view to_string(HeapVerdictKind kind) {
  static constexpr std::array<std::string_view, 21> kNames = {
      "foreign-free", "wrong-size", "freed-twice", "growing",       "leak",  "grows-with-work", "steps",
      "may-level",    "turnover",   "level",       "falling",       "noise", "short",           "held",
      "peak",         "churn",      "unfreed",     "freed-at-exit", "cache", "bloat",           "slack"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Confidence confidence) {
  return confidence == Confidence::kHigh ? "high" : confidence == Confidence::kMedium ? "medium" : "low";
}

double samples_behind(double amount, double variance_per_unit) {
  if (!(variance_per_unit > 0)) return HUGE_VAL;
  return std::max(1.0, std::fabs(amount) / variance_per_unit);
}

// That something grew is measured where the interval of its slope lies above zero. How it goes on, and why, is another
// question: doubts about that are one, however many there are.
static bool is_measured_growth(const HeapVerdict& verdict) {
  const bool claims_no_more = verdict.kind == HeapVerdictKind::kGrowing ||
                              (verdict.kind == HeapVerdictKind::kMayLevel && !verdict.facts.slowing);
  return claims_no_more && verdict.trend && verdict.trend->slope.known && verdict.trend->slope.low > 0;
}
static bool is_about_its_course(HeapDoubtKind kind) {
  return kind == HeapDoubtKind::kFewSeconds || kind == HeapDoubtKind::kMayGoOn ||
         kind == HeapDoubtKind::kWorkUnknown || kind == HeapDoubtKind::kLateThirdIsFlat;
}

void settle(HeapVerdict& verdict) {
  constexpr double kAlmostNone = 3;  // sampled blocks: the amount may be a tenth, or three times as much
  const bool is_error = verdict.kind == HeapVerdictKind::kForeignFree ||
                        verdict.kind == HeapVerdictKind::kWrongSize ||
                        verdict.kind == HeapVerdictKind::kFreedTwice;
  const bool measured = is_measured_growth(verdict);
  unsigned doubts = 0;
  bool of_course = false;
  for (const HeapDoubt& doubt : verdict.doubts) {
    const bool almost_none = doubt.kind == HeapDoubtKind::kFewSampled && doubt.number > 0 &&
                             doubt.number < kAlmostNone && !is_error;  // one error is an error
    if (measured && is_about_its_course(doubt.kind))
      of_course = true;
    else
      doubts += almost_none ? 2 : 1;
  }
  doubts += of_course ? 1 : 0;
  verdict.confidence = doubts == 0 ? Confidence::kHigh : doubts == 1 ? Confidence::kMedium : Confidence::kLow;
}

void doubt_few_samples(HeapVerdict& verdict) {
  constexpr double kFew = 20;  // their error is half of the amount
  const double samples = samples_behind(verdict.bytes, verdict.facts.per_unit.bytes);
  if (samples < kFew) verdict.doubts.push_back({HeapDoubtKind::kFewSampled, samples});
}

HeapJudge::HeapJudge(const Profile& of_profile, const HeapSums& of_sums, const HeapHistory& of_history,
                     const std::optional<AllocatorCpu>& of_cpu, const Selection& selection)
    : profile(of_profile),
      sums(of_sums),
      history(of_history),
      cpu(of_cpu),
      leaves(of_profile, selection, true),
      losses(heap_losses(of_profile, of_profile.processes[of_history.process.value].pid)),
      pairing(pairing_of(of_profile, of_profile.processes[of_history.process.value].pid, selection)) {
  traced_part = pairing.unseen_allocators || pairing.missed_processes;
  chosen_part = selection.stacks != nullptr || selection.thread.has_value() ||
                !facts_of<ImportFacts>(profile.meta).block_choice.empty();
  whole = find_trend(history.live(history.whole, history.end_of_work));
  if (whole.shape == TrendShape::kGrowing) growth = whole.growth();
  // One of many functions looks like growing by chance sooner than one alone.
  const double false_alarms = 0.05 / static_cast<double>(std::max<std::size_t>(1, history.function_count));
  for (const HeapTrack& track : history.functions)
    trends.push_back(find_trend(history.live(track, history.end_of_work), false_alarms));
  for (const HeapTrack& track : history.stacks)
    stack_trends.push_back(find_trend(history.live(track, history.end_of_work),
                                      0.05 / static_cast<double>(history.stack_count)));

  std::vector<double> per_cell(history.ends_s.size());
  for (std::size_t i = 0; i < per_cell.size(); ++i) per_cell[i] = history.whole.cells[i].allocated.blocks;
  calls = compare(history, per_cell);
  std::fill(per_cell.begin(), per_cell.end(), 0.0);
  double samples = 0;
  for (const Sample& sample : profile.all_samples()) {
    if (sample.metric != Metric::kCpu || profile.threads[sample.thread.value].process != history.process)
      continue;
    const double at_s =
        (static_cast<double>(sample.time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
    if (at_s < history.start_s || at_s > history.ends_s.back()) continue;
    per_cell[cell_at(history, at_s)] += static_cast<double>(sample.value);
    ++samples;
  }
  if (samples >= 50) cpu_use = compare(history, per_cell);

  const Process& process = profile.processes[history.process.value];
  if (chosen_part) return;  // the process's memory is of all blocks
  for (const Series& series : profile.series) {
    if (series.pid != process.pid || profile.strings[series.name] != "memory.rss_anon") continue;
    const double from = history.start_s + whole.warm_up_s, to = history.start_s + history.work_seconds();
    const Point *first = nullptr, *last = nullptr;
    std::vector<TrendPoint> course;
    for (const Point& point : series.points) {
      const double at_s =
          (static_cast<double>(point.time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
      if (at_s < from - 0.2 || at_s > to + 0.2) continue;
      if (point.value <= 0) continue;  // the process had ended
      if (first == nullptr) first = &point;
      last = &point;
      if (course.empty() || at_s > course.back().at_s) course.push_back({at_s, point.value});
    }
    if (first == nullptr || last->time_ns <= first->time_ns) continue;
    rss_seconds = static_cast<double>(last->time_ns - first->time_ns) * 1e-9;
    rss_per_s = (last->value - first->value) / rss_seconds;
    rss_known = rss_seconds >= 0.5 * (to - from);
    rss = find_trend(course);
  }
}

// A sampled block stands for as many as its size makes it: of the blocks of a function, and of all, this is the mean.
static HeapVariance variance_per_unit(const HeapSums& sums, const HeapTrack* track) {
  HeapAmounts allocated;
  if (track == nullptr) allocated = sums.total().allocated;
  if (track != nullptr)
    for (const HeapSiteId site : track->sites) allocated.add(sums.sites()[site.value].allocated);
  const auto of = [](const HeapAmount& amount) {
    return amount.value > 0 ? std::max(0.0, amount.variance) / amount.value : 0;
  };
  return {of(allocated.blocks), of(allocated.bytes)};
}

HeapVerdict HeapJudge::verdict(HeapVerdictKind kind, const HeapTrack* track) const {
  HeapVerdict made;
  made.kind = kind;
  made.pid = profile.processes[history.process.value].pid;
  made.ended = history.ended;
  made.facts.traced_part = traced_part;
  made.facts.chosen_part = chosen_part;
  made.facts.per_unit = variance_per_unit(sums, track);
  if (track == nullptr) return made;
  made.of_whole = false;
  made.function = track->name;
  made.module = track->module;
  return made;
}

HeapPlace HeapJudge::place(const HeapTrack& track, bool one_stack) const {
  const std::size_t most = one_stack ? 3 : 1;
  const HeapShare share = share_of(track, 0, 0);
  HeapPlace place{track.name, track.module, share.caller, {}, one_stack};
  for (std::size_t i = 1; i < std::min(share.path.size(), most + 1); ++i)
    place.callers.push_back(share.path[i]);
  return place;
}

HeapShare HeapJudge::share_of(const HeapTrack& track, double of_bytes, double all) const {
  HeapShare share{track.name, track.module, named_caller(track), of_bytes, all > 0 ? of_bytes / all : 0, {}};
  HeapSiteId heaviest = track.sites.front();
  const auto weight = [&](HeapSiteId site) {
    const HeapSiteSums& sum = sums.sites()[site.value];
    return std::array{std::max(0.0, history.site_growth[site.value]), sum.live.bytes.value,
                      sum.allocated.bytes.value};
  };
  for (const HeapSiteId site : track.sites)
    if (weight(site) > weight(heaviest)) heaviest = site;
  share.path = path_to_heap(profile, leaves, profile.heap.sites[heaviest.value].stack, kPathLength);
  return share;
}

namespace {

bool says_nothing(std::string_view name) {
  return is_unnamed(name) || nameless_function(name) || built_in_runtime_rules().begins(name);
}

}  // namespace

std::string HeapJudge::named_caller(const HeapTrack& track) const {
  if (!is_unnamed(track.name) && !nameless_function(track.name)) return "";
  std::array<double, 3> all{};
  std::map<std::string, std::array<double, 3>> by_caller;
  for (const HeapSiteId site : track.sites) {
    const HeapSiteSums& sum = sums.sites()[site.value];
    const std::array weights = {std::max(0.0, history.site_growth[site.value]), sum.live.bytes.value,
                                sum.allocated.bytes.value};
    const std::vector<std::string> path =
        path_to_heap(profile, leaves, profile.heap.sites[site.value].stack, kMostFramesToName);
    const auto named = std::ranges::find_if_not(path, says_nothing);
    std::array<double, 3>* const row = named == path.end() ? nullptr : &by_caller[*named];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      all[i] += weights[i];
      if (row != nullptr) (*row)[i] += weights[i];
    }
  }
  // By its growth, where it has none by what is live, and so on.
  const auto measure =
      static_cast<std::size_t>(std::ranges::find_if(all, [](double sum) { return sum > 0; }) - all.begin());
  if (measure == all.size()) return "";
  const auto most =
      std::ranges::max_element(by_caller, {}, [&](const auto& row) { return row.second[measure]; });
  constexpr double kMost = 0.5;
  return most != by_caller.end() && most->second[measure] > kMost * all[measure] ? most->first : "";
}

std::vector<HeapShare> HeapJudge::stacks_of(const HeapTrack& track, double all) const {
  std::map<StackId, double> by_stack;
  for (const HeapSiteId site : track.sites)
    by_stack[leaves.of(profile.heap.sites[site.value].stack).stack] += history.site_growth[site.value];
  std::vector<std::pair<double, StackId>> sorted;
  for (const auto& [stack, value] : by_stack)
    if (value > 0.02 * all) sorted.emplace_back(-value, stack);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() > kMostStacks) sorted.resize(kMostStacks);
  std::vector<HeapShare> shares;
  for (const auto& [value, stack] : sorted)
    shares.push_back({track.name, track.module, named_caller(track), -value,
                      all > 0 ? std::min(1.0, -value / all) : 0,
                      path_to_heap(profile, leaves, stack, kPathLength)});
  return shares;
}

// By the interval of the slope; by what moves less than a thousandth of all; by the sampling: of blocks that are
// five mean distances together none is sampled in one case of 150 (eight where the time was chosen for being
// level), and the interval of few samples is too narrow at its upper end; and by the room of containers.
double HeapJudge::unseen_growth(const HeapTrack& track, const Trend& trend, double level) const {
  const double length_s = trend.duration_s - trend.warm_up_s;
  if (!(length_s > 0)) return 0;
  double mean = 0;
  for (const Heap& heap : profile.heap.heaps)
    if (heap.process == history.process && heap.mode == HeapMode::kSampled)
      mean = std::max(mean, static_cast<double>(heap.mean_bytes));
  double room = 0;
  if (track.name.empty())
    for (const HeapTrack& part : history.functions) room += growth_in_room(part);
  else
    room = growth_in_room(track);
  const double by_samples = mean / length_s;
  const double high = !trend.slope.known ? 0
                      : mean == 0        ? trend.slope.high
                                         : 1.5 * trend.slope.high - 0.5 * trend.slope.per_s + 3 * by_samples;
  return std::max({1.0, high, 0.001 * level / length_s, (trend.warm_up_s > 0 ? 8 : 5) * by_samples, room});
}

// It is few large blocks, and is seen to give back what it had, unless that is from before the recording.
double HeapJudge::growth_in_room(const HeapTrack& track) const {
  constexpr double kLargeBlock = 32 * 1024, kLeastPart = 0.2;
  double room = 0, live_bytes = track.before.bytes.value, live_blocks = track.before.blocks.value;
  for (std::size_t i = 0; i < history.end_of_work; ++i) {
    const HeapSum &made = track.cells[i].allocated, &freed = track.cells[i].freed;
    const double more = made.bytes - freed.bytes;
    live_bytes += more;
    live_blocks += made.blocks - freed.blocks;
    if (more < kLeastPart * live_bytes || more < kLargeBlock || made.bytes < kLargeBlock * made.blocks ||
        live_bytes < kLargeBlock * live_blocks ||
        (history.from_start && freed.bytes < kLeastPart * made.bytes))
      continue;
    const double since_s = history.start_s + history.work_seconds() - history.ends_s[i];
    room = more / std::max(since_s, 1.0);
  }
  return room;
}

double HeapJudge::usual_level(const HeapTrack& track) const {
  std::vector<std::pair<double, double>> levels;  // value, time
  double before = history.start_s, all = 0;
  for (const TrendPoint& point : history.live(track, history.end_of_work)) {
    levels.emplace_back(point.value, point.at_s - before);
    all += point.at_s - before;
    before = point.at_s;
  }
  std::sort(levels.begin(), levels.end());
  double sum = 0;
  for (const auto& [value, time] : levels)
    if ((sum += time) >= all / 2) return value;
  return 0;
}

void HeapJudge::add_losses(HeapVerdict& verdict) const {
  constexpr double kLittle = 0.001;
  verdict.losses = losses;
  if (losses.has_outages()) verdict.doubts.push_back({HeapDoubtKind::kOutages});
  if (losses.has_lost_events()) {
    const HeapExactness& exactness = losses.exactness;
    const auto lost = static_cast<double>(exactness.lost()), events = static_cast<double>(exactness.events);
    const bool little = exactness.damaged_rings == 0 && lost <= kLittle * (lost + events);
    if (little)
      verdict.evidence.push_back({HeapEvidenceKind::kLostEvents});
    else
      verdict.doubts.push_back({HeapDoubtKind::kLostEvents});
  }
  verdict.pairing = pairing;
  settle(verdict);
  if (verdict.confidence != Confidence::kHigh || pairing.is_whole()) return;
  verdict.doubts.push_back({HeapDoubtKind::kNotPaired});
  std::erase_if(verdict.evidence,
                [](const HeapEvidence& line) { return line.kind == HeapEvidenceKind::kLostEvents; });
  settle(verdict);
}

std::vector<HeapVerdict> judge_heap(const Profile& profile, const Selection& selection,
                                    const HeapSums& sums) {
  std::vector<HeapVerdict> verdicts;
  // Where a second stands for a moment of the file, nothing is known about how fast anything grows.
  const bool has_times = facts_of<ImportFacts>(profile.meta).steps.empty();
  // A heap is judged by its own process: another's CPU time is not its allocators'.
  const auto cpus = allocator_cpu_by_process(profile, selection);
  for (const HeapHistory& history : heap_histories(profile, selection, sums)) {
    std::optional<AllocatorCpu> cpu;
    if (cpus) {
      const auto own = cpus->find(history.process.value);
      cpu = own == cpus->end() ? AllocatorCpu{} : own->second;
    }
    // A process that claims what it cannot have is believed nothing.
    const std::int32_t pid = profile.processes[history.process.value].pid;
    if (model::impossible_events_of(pid, profile.meta.facts) != 0) continue;
    const HeapJudge judge(profile, sums, history, cpu, selection);
    const std::size_t before = verdicts.size();
    if (has_times) judge_growth(judge, verdicts);
    judge_held(judge, verdicts);
    judge_peak(judge, verdicts);
    if (has_times) judge_churn(judge, verdicts);
    judge_exit(judge, verdicts);
    if (has_times) judge_steady(judge, verdicts);
    judge_use(judge, verdicts);
    for (std::size_t i = before; i < verdicts.size(); ++i) judge.add_losses(verdicts[i]);
  }
  // What is doubtful comes after what is not: a candidate for a leak that may be noise is no headline.
  stable_sort_rows(verdicts.begin(), verdicts.end(), [](const HeapVerdict& a, const HeapVerdict& b) {
    const auto place = [](const HeapVerdict& verdict) {
      return std::tuple(verdict.confidence == Confidence::kLow, verdict.kind, -verdict.bytes);
    };
    return place(a) < place(b);
  });
  return verdicts;
}

std::vector<std::size_t> first_verdicts(const std::vector<HeapVerdict>& verdicts, std::size_t most) {
  std::vector<std::size_t> shown;
  std::array<int, 256> of_kind{};
  for (std::size_t i = 0; i < verdicts.size() && shown.size() < most; ++i)
    if (++of_kind[static_cast<std::size_t>(verdicts[i].kind)] <= 3) shown.push_back(i);
  return shown;
}

}  // namespace fathom::analysis
