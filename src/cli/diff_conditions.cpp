#include "cli/diff_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "analysis/core/words.h"
#include "cli/notices.h"
#include "present/sentences/diff_figures.h"
#include "present/sentences/diff_sentences.h"

namespace fathom::cli {
namespace {

// The first report of the condition's metric; a second one has it per second.
const analysis::DiffReport* report_for(const std::vector<analysis::DiffReport>& reports,
                                       const analysis::FailCondition& condition) {
  const model::Metric metric = condition.metric.value_or(reports.front().metric);
  const auto found = std::find_if(reports.begin(), reports.end(), [&](const analysis::DiffReport& report) {
    return report.metric == metric;
  });
  return found != reports.end() ? &*found : nullptr;
}

// "CPU time 1.00 s → 2.00 s, up by a factor of 2.0 (1.9 to 2.1)", "parse: 10.0 % → 30.0 % (+200 %)"
std::string figure_sentence(const std::vector<analysis::DiffReport>& reports,
                            const std::vector<analysis::Total>& totals,
                            const analysis::FailCondition& condition, const std::string& name,
                            const analysis::Change& change, std::size_t others) {
  if (condition.total) {
    const auto total = std::find_if(totals.begin(), totals.end(), [&](const analysis::Total& one) {
      return one.kind == *condition.total && one.name == name;
    });
    return total != totals.end() ? present::total_sentence(*total, reports.front().work) : "";
  }
  const analysis::DiffReport* report = report_for(reports, condition);
  if (report == nullptr) return "";
  return fmt::format(
      "{}{}: {} → {} ({})", name.empty() ? present::diff_figure_name(*report) : analysis::printable(name),
      others > 0 ? fmt::format(" and {} more", others) : "", present::diff_value(*report, change.base),
      present::diff_value(*report, change.fresh), present::relative_change(change));
}

// How much equal runs may differ in this figure.
std::string noise_sentence(const analysis::Undecided& undecided) {
  const double base = undecided.change.base;
  if (!(base > 0)) return "two equal runs may differ by as much";
  return fmt::format("two equal runs may differ by {}", analysis::percent(undecided.detectable / base));
}

}  // namespace

Result<> check_conditions(const std::vector<analysis::DiffReport>& reports,
                          const std::vector<analysis::Total>& totals,
                          const std::vector<analysis::FailCondition>& conditions) {
  std::set<std::string> told;  // the same condition may be given twice
  for (const analysis::FailCondition& condition : conditions) {
    const std::string text = analysis::printable(condition.text);
    const analysis::DiffReport* report = report_for(reports, condition);
    if (!condition.total && report == nullptr) continue;
    if (!condition.total && condition.pattern.empty() && !report->whole_is_judged)
      return fail(
          ErrorKind::kUsage,
          fmt::format(
              "--fail-if '{}': the figures are shares, and the whole of them is the same on both sides",
              text),
          "--normalize absolute, or a name: 'total > +5% : NAME'");
    const bool found = condition.total ? analysis::finds_its_name(totals, condition)
                                       : analysis::finds_its_name(*report, condition);
    const bool judged =
        condition.total ? analysis::is_judged(totals, condition) : analysis::is_judged(*report, condition);
    if (judged || !told.insert(condition.text).second) continue;
    if (found)
      say("fathom: {}: both sides have too few samples, waits or readings, so this can never hold\n", text);
    else if (condition.total)
      say("fathom: {}: not known of both sides, so this can never hold\n", text);
    else
      say("fathom: {}: neither side has anything of this name, so this can never hold\n", text);
  }
  return {};
}

std::vector<present::FailedCondition> failed_of(const std::vector<analysis::DiffReport>& reports,
                                                const std::vector<analysis::Total>& totals,
                                                const std::vector<analysis::FailCondition>& conditions) {
  std::vector<present::FailedCondition> failed;
  for (const analysis::FailCondition& condition : conditions) {
    if (condition.total) {
      std::vector<analysis::Failure> failures = analysis::failures_of(totals, condition);
      if (!failures.empty()) failed.push_back({condition, {}, std::move(failures)});
      continue;
    }
    const analysis::DiffReport* report = report_for(reports, condition);
    if (report == nullptr) continue;
    std::vector<analysis::Failure> failures = analysis::failures_of(*report, condition);
    if (!failures.empty()) failed.push_back({condition, report->metric, std::move(failures)});
  }
  return failed;
}

void say_outcome(const std::vector<analysis::DiffReport>& reports, const std::vector<analysis::Total>& totals,
                 const std::vector<analysis::FailCondition>& conditions,
                 const std::vector<present::FailedCondition>& failed) {
  for (const present::FailedCondition& row : failed) {
    const analysis::Failure& first = row.failures.front();
    say("fathom: {} holds: {}\n", analysis::printable(row.condition.text),
        figure_sentence(reports, totals, row.condition, first.name, first.change, row.failures.size() - 1));
  }
  std::set<std::string> told;  // the same condition may be given twice
  for (const analysis::FailCondition& condition : conditions) {
    const analysis::DiffReport* report = report_for(reports, condition);
    const std::optional<analysis::Undecided> undecided =
        condition.total     ? analysis::undecided_of(totals, condition)
        : report != nullptr ? analysis::undecided_of(*report, condition)
                            : std::nullopt;
    if (!undecided || !told.insert(condition.text).second) continue;
    say("fathom: {}: not decided: {}; {}\n", analysis::printable(condition.text),
        figure_sentence(reports, totals, condition, undecided->name, undecided->change, 0),
        noise_sentence(*undecided));
  }
  if (!told.empty())
    say("try: longer runs, or several runs of each side: fathom record --repeat 5 --against 'OLD COMMAND' -- NEW COMMAND\n");
}

}  // namespace fathom::cli
