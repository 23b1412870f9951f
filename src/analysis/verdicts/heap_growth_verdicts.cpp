// Growing or not: of the whole heap, and of each function whose blocks grow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/core/words.h"
#include "analysis/verdicts/heap_judge.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kLeastGrowthBytes = 1024, kLeastGrowthBlocks = 8;
constexpr double kLeastShare = 0.005;      // of the growth of the whole heap
constexpr double kLongEnough_s = 60;       // for servers, whose work comes in waves of seconds
constexpr double kVisibleInRss = 1 << 20;  // allocators hold more than that back

// Older than a quarter of the window, of what is live at the end; nothing where that is not known.
std::string age_of(const HeapJudge& judge, const HeapTrack& track) {
  if (!judge.history.to_end || judge.history.ended) return "";
  std::vector<char> wanted(judge.profile.heap.sites.size());
  for (const HeapSiteId site : track.sites) wanted[site.value] = 1;
  int first = 0;  // bucket
  while (first < 62 && std::ldexp(1e-9, first) <= judge.history.seconds() / 4) ++first;
  if (first == 0) return "";
  double all = 0, old = 0;
  for (const HeapHistogram& row : judge.profile.heap.histograms) {
    if (row.kind != HeapHistogramKind::kAge || wanted[row.site.value] == 0) continue;
    all += row.sum.blocks;
    if (row.bucket >= first) old += row.sum.blocks;
  }
  if (!(all > 0)) return "";
  return fmt::format("{} of its live blocks are older than {}", percent(old / all),
                     seconds(std::ldexp(1e-9, first - 1)));
}

void number(HeapVerdict& verdict, const char* name, double value) {
  verdict.numbers.emplace_back(name, value);
}

void add_trend(HeapVerdict& verdict, const Trend& trend) {
  verdict.trend = trend;
  std::string text =
      fmt::format("R² {:.2f} over {}", trend.slope.r2, seconds(trend.duration_s - trend.warm_up_s));
  if (trend.warm_up_s > 0) text += fmt::format(" after a warm-up of {}", seconds(trend.warm_up_s));
  verdict.evidence.push_back(std::move(text));
  verdict.evidence.push_back(fmt::format(
      "no plateau: the last third of that time is {} ±{} above the third before{}", bytes(trend.late_rise),
      bytes(trend.late_rise_error), trend.new_maximum ? ", with a new maximum" : ""));
  if (trend.duration_s < kLongEnough_s)
    verdict.doubts.push_back(fmt::format("only {} were recorded", seconds(trend.duration_s)));
  if (trend.late_rise <= trend.late_rise_error)
    verdict.doubts.push_back("the last third alone does not show it");
  if (trend.slope.r2 < 0.5) verdict.doubts.push_back("most of the movement is not along this line");
}

void add_work(HeapVerdict& verdict, const HeapJudge& judge) {
  if (!judge.calls.known) {
    verdict.doubts.push_back("it is not known how much work there was");
    return;
  }
  const auto change = [](double ratio) {
    return ratio >= 2 ? fmt::format("{:.1f} times", ratio)
                      : fmt::format("{}{}", ratio < 1 ? "-" : "+", percent(std::fabs(ratio - 1)));
  };
  std::string text = fmt::format("allocations per second, second half of the time against the first: {}",
                                 change(judge.calls.ratio));
  if (judge.cpu_use.known) text += fmt::format("; CPU use: {}", change(judge.cpu_use.ratio));
  verdict.evidence.push_back(std::move(text));
  number(verdict, "work_ratio", judge.calls.ratio);
  if (judge.cpu_use.known) number(verdict, "cpu_ratio", judge.cpu_use.ratio);
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
      verdict.evidence.push_back(
          fmt::format("the process's anonymous memory grew by {} meanwhile", rate(judge.rss_per_s)));
      return false;
    }
  }
  if (judge.history.from_start) return false;
  if (is_visible && is_most && judge.rss_per_s < 0.25 * trend.slope.per_s) {
    verdict.evidence.push_back(
        fmt::format("the process's anonymous memory changed by {} meanwhile", rate(judge.rss_per_s)));
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
    verdict.evidence.push_back(
        fmt::format("{} from before the recording were freed meanwhile, {} more are "
                    "live of those from since then",
                    blocks_text(earlier_frees), blocks_text(grown_blocks)));
    return true;
  }
  if (!is_visible)
    verdict.doubts.push_back(
        "blocks from before the recording are not seen: new ones may only have taken their place");
  else
    verdict.doubts.push_back(
        fmt::format("the process's anonymous memory changed by only {} meanwhile", rate(judge.rss_per_s)));
  return false;
}

void numbers_of(HeapVerdict& verdict, const Trend& trend) {
  number(verdict, "bytes_per_s", trend.slope.per_s);
  number(verdict, "bytes_per_s_low", trend.slope.low);
  number(verdict, "bytes_per_s_high", trend.slope.high);
  number(verdict, "growth_bytes", trend.growth());
}

std::string quoted(const std::string& name) {
  std::string text = "'";
  for (const char c : printable(name)) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string for_longer(const HeapJudge& judge, double seconds) {
  seconds = std::ceil(seconds);
  return judge.history.ended ? fmt::format("give the program work for at least {:.0f} s", seconds)
                             : fmt::format("record at least {0:.0f} s: -d {0:.0f}", seconds);
}

// Of a function, or of one of its stacks.
void judge_track(const HeapJudge& judge, const HeapTrack& track, const Trend& trend, bool is_stack,
                 std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const std::string place = is_stack ? "one stack of " + judge.place(track, 3) : judge.place(track);
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
    verdict.sentence = fmt::format(
        "The memory of {} rose by {} in {}, the last after {}: one container that makes room "
        "looks like this, and so does a leak of few large blocks.",
        place, bytes(rise), counted(trend.steps, "step"), seconds(trend.last_step_s));
    verdict.doubts = {"few steps say nothing about the next one",
                      "what comes after the last step is not known"};
    verdict.advice = for_longer(judge, 3 * trend.duration_s);
    settle(verdict);
    out.push_back(std::move(verdict));
    return;
  }
  if (trend.shape != TrendShape::kGrowing ||
      trend.growth() < std::max(kLeastGrowthBytes, kLeastShare * judge.growth) ||
      (!history.sampled && all.allocated.blocks < kLeastGrowthBlocks))
    return;
  const double growth = trend.growth();
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kLeak, &track);
  verdict.bytes = growth;
  numbers_of(verdict, trend);
  verdict.shares = judge.stacks_of(track, growth);
  std::string share;
  if (judge.growth > 0) {
    const double of_all = std::min(1.0, growth / judge.growth);
    number(verdict, "growth_share_percent", 100 * of_all);
    share = fmt::format(", {} of the heap's growth", percent(of_all));
  }
  add_trend(verdict, trend);
  const double freed = all.allocated.blocks > 0 ? all.freed.blocks / all.allocated.blocks : 0;
  number(verdict, "freed_percent", 100 * freed);
  verdict.evidence.push_back(
      all.freed.blocks <= 0
          ? fmt::format("none of the {} that it allocated were freed", blocks_text(all.allocated.blocks))
          : fmt::format("of the {} that it allocated {} were freed", blocks_text(all.allocated.blocks),
                        percent(freed)));
  if (live.blocks >= 1 && live.blocks < kLeastGrowthBlocks)
    verdict.evidence.push_back(fmt::format(
        "{} hold all of it: a container that is made larger again and again", blocks_text(live.blocks)));
  if (std::string age = age_of(judge, track); !age.empty()) verdict.evidence.push_back(std::move(age));
  add_work(verdict, judge);
  // What the later half holds more than the earlier one, against what it does more.
  const std::vector<TrendPoint> points = history.live(track, history.end_of_work);
  double first = 0, second = 0;
  for (std::size_t i = 0; i < points.size(); ++i) (i < points.size() / 2 ? first : second) += points[i].value;
  const double held = first > 0 ? second / first : 1e9;
  const bool with_work = judge.calls.grows && judge.calls.ratio - 1 >= 0.5 * (held - 1);
  if (is_turnover(verdict, judge, trend)) {
    verdict.kind = HeapVerdictKind::kTurnover;
    verdict.sentence = fmt::format(
        "What was recorded of {} grows by {}, but its process does not: new blocks take the "
        "place of those from before the recording.",
        place, slope_text(trend.slope));
    verdict.advice = "record for longer than these blocks live, or from the start of the program";
  } else if (with_work) {
    verdict.kind = HeapVerdictKind::kGrowsWithWork;
    verdict.sentence = fmt::format(
        "The memory of {} grows by {}{}, and so does the work: the program allocates {:.1f} times "
        "as often in the second half of the time.",
        place, slope_text(trend.slope), share, judge.calls.ratio);
    verdict.advice = "record again under a steady load: what still grows then is a leak candidate";
  } else {
    verdict.sentence = fmt::format("Leak candidate: the memory of {} grows by {}{}, {}.", place,
                                   slope_text(trend.slope), share,
                                   !judge.calls.known         ? "with how much work is not known"
                                   : judge.calls.ratio >= 1.1 ? "faster than the work"
                                                              : "while the work does not");
    if (history.ended) {
      const double left = track.live_before(history.ends_s.size()).bytes;
      const double at_exit = std::max(0.0, live.bytes - left);
      number(verdict, "freed_at_exit_bytes", at_exit);
      if (at_exit > 0.5 * live.bytes)
        verdict.evidence.push_back(fmt::format(
            "{} of it were freed when the program ended: no leak checker reports this", bytes(at_exit)));
    }
    verdict.advice = fmt::format(
        "look for what should free these blocks, or for the limit that their container lacks: "
        "fathom report FILE --metric heap-growth --callers {}",
        quoted(track.name));
  }
  if (history.sampled && trend.late_rise_error > 0.5 * growth)
    verdict.doubts.push_back("few of its blocks were sampled");
  settle(verdict);
  out.push_back(std::move(verdict));
}

void judge_whole(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
  const Trend& trend = judge.whole;
  const double level = judge.usual_level(history.whole);
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kTooShort, nullptr);
  verdict.trend = trend;
  number(verdict, "live_bytes", level);
  const double longer = std::ceil(std::max(30.0, trend.duration_s * 3));
  std::vector<HeapShare> shares;
  switch (trend.shape) {
    case TrendShape::kGrowing: {
      verdict.kind = HeapVerdictKind::kGrowing;
      verdict.bytes = trend.growth();
      numbers_of(verdict, trend);
      for (std::size_t i = 0; i < history.functions.size(); ++i)
        if (judge.trends[i].growth() > 0.02 * trend.growth())
          shares.push_back(judge.share_of(history.functions[i], judge.trends[i].growth(), trend.growth()));
      std::sort(shares.begin(), shares.end(),
                [](const HeapShare& a, const HeapShare& b) { return a.bytes > b.bytes; });
      std::string by;
      for (std::size_t i = 0; i < std::min<std::size_t>(2, shares.size()); ++i)
        by += fmt::format("{}{} by {}", i == 0 ? "; of that " : ", ", percent(std::min(1.0, shares[i].share)),
                          printable(shares[i].name));
      add_trend(verdict, trend);
      add_work(verdict, judge);
      if (is_turnover(verdict, judge, trend)) {
        verdict.kind = HeapVerdictKind::kTurnover;
        verdict.sentence = fmt::format(
            "What was recorded of the heap grows by {}, but the process does not: new blocks "
            "take the place of those from before the recording{}.",
            slope_text(trend.slope), by);
        verdict.advice = "record for longer than the blocks live, or from the start of the program";
      } else {
        verdict.sentence = fmt::format("The heap grows by {}, {} an hour, and does not level off{}.",
                                       slope_text(trend.slope), bytes(trend.slope.per_s * 3600), by);
        verdict.advice = "fathom flamegraph FILE --metric heap-growth -o growth.svg shows the stacks";
      }
      break;
    }
    case TrendShape::kPlateau:
      verdict.kind = HeapVerdictKind::kLevel;
      verdict.bytes = level;
      verdict.sentence =
          trend.warm_up_s > 0
              ? fmt::format(
                    "The heap does not grow: it has been level at {} since the end of its warm-up, {} "
                    "after the start.",
                    bytes(level), seconds(history.start_s + trend.warm_up_s))
              : fmt::format("The heap does not grow: it is level at {}.", bytes(level));
      if (trend.slope.known)
        verdict.evidence.push_back(fmt::format("slope {} to {} (95 %), swing ±{}", rate(trend.slope.low),
                                               rate(trend.slope.high), bytes(2 * trend.swing)));
      verdict.advice = fmt::format(
          "fathom report FILE --metric heap-live says what it holds; a growth below {} would not be seen in "
          "{}",
          rate(std::max({1.0, trend.slope.high, 0.001 * level / trend.duration_s})),
          seconds(trend.duration_s));
      if (trend.duration_s < kLongEnough_s)
        verdict.doubts.push_back(fmt::format("only {} were recorded", seconds(trend.duration_s)));
      break;
    case TrendShape::kFalling:
      verdict.kind = HeapVerdictKind::kFalling;
      verdict.bytes = -trend.growth();
      numbers_of(verdict, trend);
      verdict.sentence =
          fmt::format("The heap shrinks by {}.",
                      slope_text({-trend.slope.per_s, -trend.slope.high, -trend.slope.low, trend.slope.r2}));
      verdict.advice =
          "nothing to do for its size; fathom report FILE --metric heap-peak says what it was made of";
      if (trend.duration_s < kLongEnough_s)
        verdict.doubts.push_back(fmt::format("only {} were recorded", seconds(trend.duration_s)));
      break;
    case TrendShape::kSteps:
      verdict.kind = HeapVerdictKind::kSteps;
      verdict.bytes = trend.last - trend.first;
      verdict.sentence = fmt::format("The heap rose by {} in {}, the last at {}: too few to call it growing.",
                                     bytes(trend.last - trend.first), counted(trend.steps, "step"),
                                     seconds(trend.last_step_s));
      verdict.doubts = {"few steps say nothing about the next one",
                        "what comes after the last step is not known"};
      verdict.advice = for_longer(judge, longer);
      break;
    case TrendShape::kNoise: {
      verdict.kind = HeapVerdictKind::kNoise;
      const double needed = std::max({trend.needed_s, 2 * trend.duration_s, 30.0});
      verdict.sentence = fmt::format(
          "Noise: live bytes swing by ±{} around {}, and no growth can be told from that (slope {} to "
          "{}).",
          bytes(2 * trend.swing), bytes(level), rate(trend.slope.low), rate(trend.slope.high));
      verdict.advice = needed < 7 * 86400
                           ? "to see a growth of a tenth of the heap, " + for_longer(judge, needed)
                           : std::string("judge by the functions instead, whose own series swing less");
      // Of what swings, how much is the throw of the dice.
      if (const double error = history.live(history.whole, history.end_of_work).back().variance;
          history.sampled && std::sqrt(error) > 0.5 * trend.swing) {
        verdict.evidence.push_back("most of that is the error of sampling");
        verdict.advice = "sample finer, as with --heap-interval 65536, or record every call: --heap=exact";
      }
      number(verdict, "needed_s", needed);
      break;
    }
    case TrendShape::kTooShort:
      verdict.sentence =
          fmt::format("{} in {} are too short to say whether the heap grows.", seconds(history.seconds()),
                      counted(history.ends_s.size(), "slice of time", "slices of time"));
      verdict.advice = for_longer(judge, longer);
      number(verdict, "needed_s", longer);
      break;
  }
  verdict.shares = std::move(shares);
  settle(verdict);
  out.push_back(std::move(verdict));
}

}  // namespace

void judge_growth(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const HeapHistory& history = judge.history;
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
    if (!judged.contains({track.name, track.module}) && judge.stack_trends[i].shape == TrendShape::kGrowing)
      judge_track(judge, track, judge.stack_trends[i], true, out);
  }
}

}  // namespace fathom::analysis
