#include "present/sentences/diff_figures.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/core/words.h"

namespace fathom::present {
namespace {

using analysis::Change;
using analysis::DiffReport;
using analysis::DiffUnit;
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

}  // namespace

std::string diff_figure(DiffUnit unit, Normalization normalization, double value) {
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
  return diff_figure(report.unit, report.normalization, value);
}

std::string diff_from_to(const DiffReport& report, const Change& change) {
  if (!in_points(report)) return diff_value(report, change.base) + " → " + diff_value(report, change.fresh);
  std::string base = diff_value(report, change.base);
  base.erase(base.size() - 2);  // the sign stands once
  return base + " → " + diff_value(report, change.fresh);
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

std::string diff_per(Normalization normalization, const std::string& work) {
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

std::string diff_metric_name(const DiffReport& report) {
  const model::Metric metric = report.metric;
  if (!report.counted.empty()) return analysis::printable(report.counted);
  if (metric == model::Metric::kCpu) return "CPU time";
  if (metric == model::Metric::kOffCpu) return "time waited with work to do";
  if (metric == model::Metric::kWall) return "time on a CPU or waiting";
  return std::string(model::info_of(metric).sentence);
}

std::string diff_figure_name(const DiffReport& report) {
  const std::string metric = diff_metric_name(report);
  return report.normalization == Normalization::kShare ? "share of " + metric
                                                       : metric + diff_per(report.normalization, report.work);
}

std::string side_name(const analysis::DiffSide& side) {
  if (side.labels.size() == 1) return analysis::printable(side.labels.front());
  return analysis::counted(side.labels.size(), "run") + " (" + analysis::printable(side.labels.front()) +
         " ...)";
}

}  // namespace fathom::present
