#include "present/sentences/diff_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::present {
namespace {

using analysis::Change;
using analysis::DiffReport;
using analysis::DiffRow;
using analysis::DiffUnit;
using analysis::Doubt;
using analysis::DoubtKind;
using analysis::Normalization;

bool in_points(const DiffReport& report) {
  return report.unit == DiffUnit::kOfCore || report.unit == DiffUnit::kShare;
}

std::string count_text(double value) {
  if (value == std::floor(value) || std::fabs(value) >= 1000)
    return std::fabs(value) > 9e15 ? fmt::format("{:.3e}", value)
                                   : analysis::with_commas(std::llround(value));
  return fmt::format("{:.3g}", value);
}

// No more digits than the error leaves: two of it at most.
std::string points(double value, double error) {
  const double known = error > 0 ? 100 * error : 100 * std::fabs(value);
  return fmt::format("{:.{}f}", 100 * value, known >= 0.995 ? 1 : known >= 0.0995 ? 2 : 3);
}

std::string per_text(Normalization normalization, const std::string& work) {
  switch (normalization) {
    case Normalization::kPerSecond:
      return " per second";
    case Normalization::kCpuSecond:
      return " per second of CPU time";
    case Normalization::kWork:
      return work.empty() ? " per unit of work" : " per " + analysis::printable(work);
    case Normalization::kAbsolute:
    case Normalization::kShare:
      break;
  }
  return "";
}

std::string per_text(const DiffReport& report) {
  return per_text(report.normalization, report.work);
}

std::string metric_text(const DiffReport& report) {
  const model::Metric metric = report.metric;
  if (!report.counted.empty()) return analysis::printable(report.counted);
  if (metric == model::Metric::kCpu) return "CPU time";
  if (metric == model::Metric::kOffCpu) return "time waited with work to do";
  if (metric == model::Metric::kWall) return "time on a CPU or waiting";
  return std::string(model::info_of(metric).sentence);
}

// The row that explains most of the change, in its direction; nullptr without one.
const DiffRow* culprit(const DiffReport& report, bool grew) {
  for (const DiffRow& row : report.rows) {
    if (row.self.beyond_noise && (row.self.change > 0) == grew) return &row;
  }
  return nullptr;
}

std::string function_text(const DiffRow& row) {
  std::string text = analysis::printable(analysis::spoken_name(row.name));
  if (row.line != 0) text += fmt::format(" ({}:{})", analysis::printable(row.file), row.line);
  return text;
}

std::string from_to(const DiffReport& report, const Change& change) {
  if (!in_points(report)) return diff_value(report, change.base) + " → " + diff_value(report, change.fresh);
  std::string base = diff_value(report, change.base);
  base.erase(base.size() - 2);  // the sign stands once
  return base + " → " + diff_value(report, change.fresh);
}

std::string culprit_text(const DiffReport& report, const DiffRow& row) {
  const Change& change = row.self;
  if (row.is_new())
    return fmt::format("{} is new, with {}", function_text(row), diff_value(report, change.fresh));
  if (row.is_gone())
    return fmt::format("{} is gone, which had {}", function_text(row), diff_value(report, change.base));
  return fmt::format("{} went from {} to {} ({})", function_text(row), diff_value(report, change.base),
                     diff_value(report, change.fresh), relative_change(change));
}

std::string total_name(const analysis::Total& total) {
  switch (total.kind) {
    case analysis::TotalKind::kCpu:
      return total.sampled ? "CPU time, estimated from samples," : "CPU time";
    case analysis::TotalKind::kWall:
      return "wall-clock time";
    case analysis::TotalKind::kCalls:
      return "calls of " + analysis::printable(analysis::spoken_name(total.name));
    case analysis::TotalKind::kWaits:
      return fmt::format("waits ({})", analysis::printable(total.name));
    case analysis::TotalKind::kQueue:
      return "waiting for a CPU";
    case analysis::TotalKind::kAllocations:
      return total.sampled ? "allocations, estimated from samples," : "allocations";
    case analysis::TotalKind::kAllocated:
      return total.sampled ? "allocated bytes, estimated from samples," : "allocated bytes";
    case analysis::TotalKind::kHeapPeak:
      return total.sampled ? "peak of the heap, estimated from samples," : "peak of the heap";
    case analysis::TotalKind::kPeakRss:
      return "peak of resident memory";
    case analysis::TotalKind::kSpanMedian:
      return fmt::format("spans of {}: median", analysis::printable(total.name));
    case analysis::TotalKind::kSpanP95:
      return fmt::format("spans of {}: p95", analysis::printable(total.name));
  }
  return "";
}

// "52", "2.3": how many times, without digits that say nothing.
std::string times_number(double times) {
  return times < 9.95 ? fmt::format("{:.1f}", times)
                      : analysis::with_commas(std::llround(std::min(times, 9e15)));
}

constexpr double kInTimes = 2;  // from twice on, factors read better than per cent

// "down by a factor of 52 (47 to 58)", "48 % more (29 % to 69 %)": the interval in the direction of the change. Not "2.5 times
// more", which some read as 3.5 times as much.
std::string ratio_text(const analysis::Ratio& ratio) {
  const bool more = ratio.value >= 1;
  const char* word = more ? "more" : "less";
  const double times = more ? ratio.value : 1 / ratio.value;
  const double low = more ? ratio.low : 1 / ratio.high, high = more ? ratio.high : 1 / ratio.low;
  const bool has_interval = high > low;
  if (times >= kInTimes) {
    std::string text = fmt::format("{} by a factor of {}", more ? "up" : "down", times_number(times));
    if (has_interval) text += fmt::format(" ({} to {})", times_number(low), times_number(high));
    return text;
  }
  const auto part = [&](double value) { return more ? value - 1 : 1 - 1 / value; };
  std::string text = fmt::format("{} {}", analysis::percent(part(times)), word);
  if (has_interval)
    text += fmt::format(" ({} to {})", analysis::percent(part(low)), analysis::percent(part(high)));
  return text;
}

// "new takes 6.1 % ± 1.4 more CPU time per second than base: 102 → 108 %."; from twice on, "new has more heap
// bytes at the peak than base, by a factor of 60 (58 to 61): 2.4 MiB → 145.6 MiB."
std::string whole_text(const DiffReport& report) {
  const Change& whole = report.whole;
  const char* verb = model::is_heap(report.metric) ? "has" : "takes";
  const std::string what = metric_text(report) + per_text(report);
  const std::optional<analysis::Ratio> ratio = analysis::ratio_of(whole);
  if (ratio && std::max(ratio->value, 1 / ratio->value) >= kInTimes) {
    const std::string factor = ratio_text(*ratio);
    return fmt::format("new {} {} {} than base, {}: {}.", verb, ratio->value >= 1 ? "more" : "less", what,
                       factor.substr(factor.find("by ")), from_to(report, whole));
  }
  const double size = whole.base != 0 ? whole.base : whole.fresh;
  std::string much =
      whole.base == 0 ? diff_value(report, whole.fresh) : analysis::percent(std::fabs(whole.change) / size);
  if (whole.base != 0 && whole.error > 0) much += " ± " + analysis::percent_number(whole.error / size);
  return fmt::format("new {} {} {} {} than base: {}.", verb, much, whole.change > 0 ? "more" : "less", what,
                     from_to(report, whole));
}

std::size_t found(const DiffReport& report) {
  return static_cast<std::size_t>(std::count_if(report.rows.begin(), report.rows.end(),
                                                [](const DiffRow& row) { return row.self.beyond_noise; }));
}

bool any_total(const DiffReport& report) {
  return std::any_of(report.rows.begin(), report.rows.end(),
                     [](const DiffRow& row) { return row.total.beyond_noise; });
}

}  // namespace

static std::string figure_text(DiffUnit unit, Normalization normalization, double value) {
  switch (unit) {
    case DiffUnit::kOfCore:
    case DiffUnit::kShare:
      return analysis::percent(value);
    case DiffUnit::kNs:
      return analysis::amount(value, "ns");
    case DiffUnit::kBytes:
      return analysis::bytes(value) + (normalization == Normalization::kPerSecond ? "/s" : "");
    case DiffUnit::kCount:
      break;
  }
  return count_text(value);
}

std::string diff_value(const DiffReport& report, double value) {
  return figure_text(report.unit, report.normalization, value);
}

std::string total_sentence(const analysis::Total& total, const std::string& work) {
  const Change& change = total.change;
  std::string text = total_name(total);
  if (total.unit != DiffUnit::kBytes) text += per_text(total.per, work);
  text[0] = static_cast<char>(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
  text += fmt::format(" {} → {}", figure_text(total.unit, total.per, change.base),
                      figure_text(total.unit, total.per, change.fresh));
  if (total.kind == analysis::TotalKind::kQueue)
    return text + ": other programs decide that, so it is in no figure below";
  if (!change.looked_at)
    return text + (total.kind == analysis::TotalKind::kWaits ? ": too few to compare"
                                                             : ": too few readings to compare");
  if (change.base == change.fresh) return text + ": the same";
  if (!change.beyond_noise) {
    // What others did is no error that a number describes once it is as large as the figure.
    const double size = std::max(change.base, change.fresh);
    if (change.slack > size / 2)
      return text + ": other programs used the CPUs, which hides any change below " +
             fmt::format("{} times", times_number(1 + change.error / std::min(change.base, change.fresh)));
    return text + fmt::format(": no more than noise (±{})", analysis::percent(change.error / size));
  }
  if (!total.ratio) return text + (change.base == 0 ? ", new" : ", gone");
  return text + ", " + ratio_text(*total.ratio);
}

std::string diff_change(const DiffReport& report, const Change& change) {
  const std::string sign = change.change > 0 ? "+" : "";
  if (in_points(report)) {
    std::string text = sign + points(change.change, change.error);
    if (change.error > 0) text += " ± " + points(change.error, change.error);
    return text;
  }
  std::string text = sign + diff_value(report, change.change);
  if (change.error > 0) text += " ± " + diff_value(report, change.error);
  return text;
}

std::string relative_change(const Change& change) {
  if (change.base == 0) return change.fresh == 0 ? "" : "new";
  if (change.fresh == 0) return "gone";
  const double part = change.change / change.base;
  if (std::fabs(part) >= 10) return fmt::format("{:.0f} times", change.fresh / change.base);
  return (part > 0 ? "+" : "") + analysis::percent(part);
}

std::string diff_figure_name(const DiffReport& report) {
  const std::string metric = metric_text(report);
  return report.normalization == Normalization::kShare ? "share of " + metric : metric + per_text(report);
}

std::string side_name(const analysis::DiffSide& side) {
  if (side.labels.size() == 1) return analysis::printable(side.labels.front());
  return analysis::counted(side.labels.size(), "run") + " (" + analysis::printable(side.labels.front()) +
         " ...)";
}

namespace {

// Every sentence begins with a capital; "new" is a side.
std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z' && !text.starts_with("new "))
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// What moved with the whole is named first; without a change of the whole, what grew.
std::string functions_text(const DiffReport& report) {
  const bool grew = !report.whole.beyond_noise || report.whole.change > 0;
  const DiffRow* first = culprit(report, grew);
  const DiffRow* other = culprit(report, !grew);
  if (first == nullptr && other == nullptr) return "";
  std::string text = first != nullptr ? culprit_text(report, *first) : "";
  if (other != nullptr) text += (first != nullptr ? "; " : "") + culprit_text(report, *other);
  text += ".";
  const std::size_t changed = found(report),
                    named = (first != nullptr ? 1u : 0u) + (other != nullptr ? 1u : 0u);
  if (changed > named)
    return text + fmt::format(" {} more {} changed by more than noise.", changed - named,
                              changed - named == 1 ? "function" : "functions");
  return text + " No other function changed by more than noise.";
}

// An error many times the figure says no more than why.
std::string whole_change(const DiffReport& report) {
  const Change& whole = report.whole;
  if (whole.slack > std::max(whole.base, whole.fresh) / 2)
    return "other programs used the CPUs, which hides a change";
  return diff_change(report, whole);
}

constexpr const char* kOnlyWithCallees =
    "No function by itself, but calls with all that they call have changed.";

analysis::Total as_total(const DiffReport& report) {
  analysis::Total total;
  total.change = report.whole;
  total.ratio = analysis::ratio_of(report.whole);
  total.per = report.normalization;
  total.unit = report.unit;
  return total;
}

}  // namespace

// Why there is nothing about functions; nullptr: both sides were sampled, or the metric is not CPU time.
static const char* no_functions_text(const DiffReport& report) {
  const auto unsampled = std::find_if(report.doubts.begin(), report.doubts.end(),
                                      [](const Doubt& doubt) { return doubt.kind == DoubtKind::kUnsampled; });
  if (report.metric != model::Metric::kCpu || unsampled == report.doubts.end()) return nullptr;
  return unsampled->base.empty() || unsampled->fresh.empty()
             ? "Functions are not compared: one side could not be sampled."
             : "Functions are not compared: neither side could be sampled.";
}

std::string diff_headline(const DiffReport& report) {
  const std::string functions = functions_text(report);
  const bool measured = report.measured && report.whole_is_judged;
  std::string text;
  if (report.whole_is_judged && report.whole.beyond_noise)
    text = measured ? total_sentence(as_total(report), report.work) + "." : whole_text(report);
  if (text.empty() && !functions.empty())
    text = report.whole_is_judged
               ? fmt::format("{} is the same within noise ({}, {}), but its parts are not.",
                             diff_figure_name(report), from_to(report, report.whole), whole_change(report))
               : "The parts have changed.";
  if (text.empty() && any_total(report)) text = kOnlyWithCallees;
  if (const char* why = no_functions_text(report)) return text.empty() ? why : text + " " + why;
  if (text.empty())
    return fmt::format("Nothing differs by more than noise: {}{}.", diff_figure_name(report),
                       report.whole_is_judged
                           ? fmt::format(" {} ({})", from_to(report, report.whole), whole_change(report))
                           : "");
  if (!functions.empty()) text += " " + functions;
  return capitalised(std::move(text));
}

std::string diff_parts_sentence(const DiffReport& report) {
  if (std::string functions = functions_text(report); !functions.empty()) return functions;
  if (const char* why = no_functions_text(report)) return why;
  return any_total(report) ? kOnlyWithCallees : "No function changed by more than noise.";
}

// The whole of one recording of each side varied over time by far more than samples of a steady load do: a busy machine, or a load
// that comes in bursts. Every function varies with it then.
static bool has_uneven_load(const DiffReport& report) {
  if (report.normalization == Normalization::kShare || report.exact || report.metric != model::Metric::kCpu ||
      report.tree.runs != 2)
    return false;
  const auto expected = [&](double figure, std::uint64_t samples) {
    const double sampling = samples == 0 ? 0 : figure / std::sqrt(static_cast<double>(samples));
    return std::hypot(sampling, std::max(report.own_spread, report.kernel_spread) * figure);
  };
  constexpr double kFarMore = 3;
  return report.whole.sd > kFarMore * std::hypot(expected(report.whole.base, report.base.samples),
                                                 expected(report.whole.fresh, report.fresh.samples));
}

static std::string figures_text(const DiffReport& report) {
  std::string figures = diff_figure_name(report);
  if (report.unit == DiffUnit::kOfCore)
    figures += report.metric == model::Metric::kCpu ? ", where 100 % is one core all the time"
                                                    : ", where 100 % is one thread all the time";
  if (report.normalization == Normalization::kAbsolute)
    figures += report.whole_runs ? ", of the whole run" : ", as recorded";
  if (report.measured && report.whole_is_judged)
    figures += "; the total is measured, functions are sampled shares of it";
  return fmt::format("Figures: {} (--normalize {}).", figures, analysis::to_string(report.normalization));
}

std::string diff_short_legend(const DiffReport& report) {
  std::string text = figures_text(report) + " ± is the error at 95 % certainty";
  if (report.own_spread > 0)
    text += fmt::format(", with {} assumed between runs", analysis::percent(report.own_spread));
  return text + "; --top 10 prints all tables and explains it.";
}

std::string diff_legend(const DiffReport& report) {
  std::string text = figures_text(report);
  const bool several = report.base_runs > 1 || report.tree.runs - report.base_runs > 1;
  if (report.exact && !several && model::is_heap(report.metric)) {
    text += " Every event was counted, so ± says only how far runs of one program lie apart.";
  } else {
    text += fmt::format(
        " ± is the error of the change, from {}, wide enough for {} looked at: with 95 % certainty none is called changed that is not.",
        several ? "the spread of the runs" : "sampling and from how the program varied over time",
        report.looked_at == 1
            ? "the one figure that was"
            : fmt::format("all {} figures that were",
                          analysis::with_commas(static_cast<std::int64_t>(report.looked_at))));
  }
  const bool lone = report.base_runs == 1 || report.tree.runs - report.base_runs == 1;
  const std::string assumed = analysis::percent(report.own_spread);
  if (report.own_spread > 0 && several)
    text += fmt::format(" A few runs show little about run-to-run variation, so at least {} is assumed.",
                        assumed);
  else if (report.own_spread > 0)
    text +=
        fmt::format(" One run of each does not show the run-to-run variation; {} is assumed{}.", assumed,
                    report.kernel_spread > report.own_spread
                        ? fmt::format(", {} of what the kernel did", analysis::percent(report.kernel_spread))
                        : std::string());
  else if (several && lone)
    text += fmt::format(" The run-to-run variation is known for {}, and also used for the one run of {}.",
                        report.base_runs == 1 ? "new" : "base", report.base_runs == 1 ? "base" : "new");
  if (has_uneven_load(report))
    text +=
        " The whole varied over time far more than a steady load does, and every ± is wide by it: --normalize share compares the parts without that.";
  return text;
}

std::vector<std::string> doubt_sentences(const DiffReport& report) {
  std::vector<std::string> sentences;
  for (const Doubt& doubt : report.doubts) {
    const std::string base = analysis::printable(doubt.base), fresh = analysis::printable(doubt.fresh);
    switch (doubt.kind) {
      case DoubtKind::kProgram:
        sentences.push_back(fmt::format("base is of {}, new of {}: other programs", base, fresh));
        break;
      case DoubtKind::kCompilers:
        sentences.push_back(fmt::format("base was built by {}, new by {}", base, fresh));
        break;
      case DoubtKind::kRate:
        sentences.push_back(fmt::format("base was sampled at {}, new at {}", base, fresh));
        break;
      case DoubtKind::kEngine:
        sentences.push_back(fmt::format("base was recorded by {}, new by {}", base, fresh));
        break;
      case DoubtKind::kEvent:
        sentences.push_back(fmt::format("base counts {}, new {}", base, fresh));
        break;
      case DoubtKind::kHost:
        sentences.push_back(fmt::format("base is from {}, new from {}", base, fresh));
        break;
      case DoubtKind::kLosses:
        sentences.push_back(fmt::format("base lost {} of its events, new {}", base, fresh));
        break;
      case DoubtKind::kStolen:
        sentences.push_back(
            fmt::format("the host took {} of the CPUs' time from base, {} from new", base, fresh));
        break;
      case DoubtKind::kBusy:
        sentences.push_back(fmt::format(
            "the machine was busy: of the time in which threads could run, they waited for a CPU for {} in base, {} in new{}",
            base, fresh,
            report.busy_machine
                ? "; so shares are compared, as what one run used per second is what others left it"
                : ""));
        break;
      case DoubtKind::kDuration:
        sentences.push_back(fmt::format("base took {}, new {}", base, fresh));
        break;
      case DoubtKind::kTruncated:
        sentences.push_back(fmt::format("base is {}, new is {}", base, fresh));
        break;
      case DoubtKind::kFailed:
        sentences.push_back(fmt::format("base ended with {}, new with {}", base, fresh));
        break;
      case DoubtKind::kUnsampled:
        sentences.push_back(fmt::format("{} could not be sampled: {}",
                                        base.empty()    ? "new"
                                        : fresh.empty() ? "base"
                                                        : "both sides",
                                        base.empty() ? fresh : base));
        break;
      case DoubtKind::kUnmeasured:
        if (!base.empty()) sentences.push_back(fmt::format("not measured in base: {}", base));
        if (!fresh.empty()) sentences.push_back(fmt::format("not measured in new: {}", fresh));
        break;
    }
  }
  return sentences;
}

std::string unmatched_sentence(const DiffReport& report) {
  std::string text;
  if (report.base.by_code > 0 || report.fresh.by_code > 0)
    text = fmt::format(
        "Functions without a name were found by their code in the other build: {} of base, {} of new.",
        analysis::percent(report.base.by_code), analysis::percent(report.fresh.by_code));
  if (report.base.unmatched > 0 || report.fresh.unmatched > 0)
    text += fmt::format(
        "{}Code without names could not be matched, as the builds differ: {} of base, {} of new; it is one row per module. --symbols with an unstripped twin names it.",
        text.empty() ? "" : " ", analysis::percent(report.base.unmatched),
        analysis::percent(report.fresh.unmatched));
  return text;
}

std::string power_sentence(const analysis::Power& power, const std::string& figure) {
  if (!(power.detected > 0)) return fmt::format("{}: nothing was measured", figure);
  std::string text = fmt::format("{}: these recordings show a change of {} or more, four times out of five",
                                 analysis::printable(figure), analysis::percent(power.detected));
  if (power.detected <= power.change) return text + ", so " + analysis::percent(power.change) + " is seen";
  text += fmt::format(". For {}: ", analysis::percent(power.change));
  std::string ways;
  if (power.times_longer > 0 && power.seconds > 0)
    ways = fmt::format("{} on each side ({:.3g} times as long)", analysis::seconds(power.seconds),
                       power.times_longer);
  else if (power.times_longer > 0)
    ways = fmt::format("{:.3g} times as many samples on each side", power.times_longer);
  else
    ways = "no longer recording is enough, as runs lie further apart";
  if (power.runs > 0) ways += fmt::format("; or {} runs of this length on each side", power.runs);
  return text + ways;
}

}  // namespace fathom::present
