#include "present/sentences/diff_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "present/sentences/diff_figures.h"

namespace fathom::present {
namespace {

using analysis::Change;
using analysis::DiffReport;
using analysis::DiffRow;
using analysis::DiffUnit;
using analysis::Doubt;
using analysis::DoubtKind;
using analysis::Normalization;

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
  const std::string what = diff_metric_name(report) + diff_per(report.normalization, report.work);
  const std::optional<analysis::Ratio> ratio = analysis::ratio_of(whole);
  if (ratio && std::max(ratio->value, 1 / ratio->value) >= kInTimes) {
    const std::string factor = ratio_text(*ratio);
    return fmt::format("new {} {} {} than base, {}: {}.", verb, ratio->value >= 1 ? "more" : "less", what,
                       factor.substr(factor.find("by ")), diff_from_to(report, whole));
  }
  const double size = whole.base != 0 ? whole.base : whole.fresh;
  std::string much =
      whole.base == 0 ? diff_value(report, whole.fresh) : analysis::percent(std::fabs(whole.change) / size);
  if (whole.base != 0 && whole.error > 0) much += " ± " + analysis::percent_number(whole.error / size);
  return fmt::format("new {} {} {} {} than base: {}.", verb, much, whole.change > 0 ? "more" : "less", what,
                     diff_from_to(report, whole));
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

std::string total_sentence(const analysis::Total& total, const std::string& work) {
  const Change& change = total.change;
  std::string text = total_name(total);
  if (total.unit != DiffUnit::kBytes) text += diff_per(total.per, work);
  text[0] = static_cast<char>(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
  text += fmt::format(" {} → {}", diff_figure(total.unit, total.per, change.base),
                      diff_figure(total.unit, total.per, change.fresh));
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
    text =
        report.whole_is_judged
            ? fmt::format("{} is the same within noise ({}, {}), but its parts are not.",
                          diff_figure_name(report), diff_from_to(report, report.whole), whole_change(report))
            : "The parts have changed.";
  if (text.empty() && any_total(report)) text = kOnlyWithCallees;
  if (const char* why = no_functions_text(report)) return text.empty() ? why : text + " " + why;
  if (text.empty())
    return fmt::format("Nothing differs by more than noise: {}{}.", diff_figure_name(report),
                       report.whole_is_judged
                           ? fmt::format(" {} ({})", diff_from_to(report, report.whole), whole_change(report))
                           : "");
  if (!functions.empty()) text += " " + functions;
  return capitalised(std::move(text));
}

std::string diff_parts_sentence(const DiffReport& report) {
  if (std::string functions = functions_text(report); !functions.empty()) return functions;
  if (const char* why = no_functions_text(report)) return why;
  return any_total(report) ? kOnlyWithCallees : "No function changed by more than noise.";
}

}  // namespace fathom::present
