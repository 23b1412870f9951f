#include "present/sentences/diff_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/words.h"
#include "present/sentences/diff_figures.h"

namespace fathom::present {
namespace {

using analysis::DiffReport;
using analysis::DiffUnit;
using analysis::Doubt;
using analysis::DoubtKind;
using analysis::Normalization;

// The whole of one recording of each side varied over time by far more than samples of a steady load do: a busy machine, or a load
// that comes in bursts. Every function varies with it then.
bool has_uneven_load(const DiffReport& report) {
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

std::string figures_text(const DiffReport& report) {
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

// What is known of both sides: one sentence. kUnmeasured has one for each.
std::string doubt_sentence(const Doubt& doubt, bool busy_machine) {
  const std::string base = analysis::printable(doubt.base), fresh = analysis::printable(doubt.fresh);
  switch (doubt.kind) {
    case DoubtKind::kProgram:
      return fmt::format("base is of {}, new of {}: other programs", base, fresh);
    case DoubtKind::kCompilers:
      return fmt::format("base was built by {}, new by {}", base, fresh);
    case DoubtKind::kRate:
      return fmt::format("base was sampled at {}, new at {}", base, fresh);
    case DoubtKind::kEngine:
      return fmt::format("base was recorded by {}, new by {}", base, fresh);
    case DoubtKind::kEvent:
      return fmt::format("base counts {}, new {}", base, fresh);
    case DoubtKind::kHost:
      return fmt::format("base is from {}, new from {}", base, fresh);
    case DoubtKind::kLosses:
      return fmt::format("base lost {} of its events, new {}", base, fresh);
    case DoubtKind::kStolen:
      return fmt::format("the host took {} of the CPUs' time from base, {} from new", base, fresh);
    case DoubtKind::kBusy:
      return fmt::format(
          "the machine was busy: of the time in which threads could run, they waited for a CPU for {} in base, {} in new{}",
          base, fresh,
          busy_machine ? "; so shares are compared, as what one run used per second is what others left it"
                       : "");
    case DoubtKind::kDuration:
      return fmt::format("base took {}, new {}", base, fresh);
    case DoubtKind::kTruncated:
      return fmt::format("base is {}, new is {}", base, fresh);
    case DoubtKind::kFailed:
      return fmt::format("base ended with {}, new with {}", base, fresh);
    case DoubtKind::kUnsampled:
      return fmt::format("{} could not be sampled: {}",
                         base.empty()    ? "new"
                         : fresh.empty() ? "base"
                                         : "both sides",
                         base.empty() ? fresh : base);
    case DoubtKind::kUnmeasured:
      break;
  }
  return "";
}

}  // namespace

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
    if (doubt.kind != DoubtKind::kUnmeasured) {
      sentences.push_back(doubt_sentence(doubt, report.busy_machine));
      continue;
    }
    if (!doubt.base.empty()) sentences.push_back("not measured in base: " + analysis::printable(doubt.base));
    if (!doubt.fresh.empty()) sentences.push_back("not measured in new: " + analysis::printable(doubt.fresh));
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
