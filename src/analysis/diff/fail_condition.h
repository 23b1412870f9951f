// A condition of `--fail-if`: a limit for a change. It holds when a change is beyond the limit and more than
// noise, so that a check does not fail by chance (kFalseAlarms). Noise is judged by the figures of the
// condition alone: on a report with hundreds of functions a check of the total is as sharp as on one with
// ten.
//
//   total > +5%                  the whole, in per cent of base
//   total > +5% : parse          any function that matches, with its callees: part of a name or /expression/
//   self > +2pt : ^Trie::        without callees; in points of the figure shown (100 of them are 1)
//   peak > +10%                  another metric: cpu, off-cpu, wall, peak, live, leaked, allocated,
//                                allocations, growth
//   module > +5% : libssl        any module that matches; crate, thread and cause likewise
//   calls > +5% : parse          how often a counted function was called; waits > +20% : sync, how often
//                                threads waited for this cause
//   elapsed > +5%                how long whole runs took; rss, the peak of resident memory
//   total < -5%                  a decrease can fail, too
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/totals.h"
#include "base/result.h"

namespace fathom::analysis {

struct FailCondition {
  enum class About : std::uint8_t { kTotal, kSelf, kModule, kCrate, kThread, kCause };
  About about = About::kTotal;
  std::optional<model::Metric> metric;  // none: the compared metric
  std::optional<TotalKind> total;       // a total that belongs to no metric
  bool above = true;                    // ">"
  double limit = 0;                     // as a fraction of base: 0.05; with `points`, in units of the figure
                                        // itself
  bool points = false;
  std::string pattern;  // empty: the whole
  std::string text;     // as typed
};

// kUsage if the text is not a condition, or its pattern is invalid.
Result<FailCondition> parse_fail_condition(const std::string& text);

// Probability that a condition holds for runs that do not differ.
inline constexpr double kFalseAlarms = 0.01;

struct Failure {
  std::string name;  // "" for the whole
  Change change;
};
// All figures of the report that the condition covers and that exceed its limit, largest change first.
std::vector<Failure> failures_of(const DiffReport& report, const FailCondition& condition);
std::vector<Failure> failures_of(const std::vector<Total>& totals, const FailCondition& condition);

// What a condition says when it does not hold, although figures that it covers exceed its limit.
struct Undecided {
  std::string name;  // "" for the whole; the figure that changed most
  Change change;
  double detectable = 0;  // the smallest change that would have been more than noise for this condition
};
// nullopt if the condition holds, or if no figure that is judged exceeds its limit.
std::optional<Undecided> undecided_of(const DiffReport& report, const FailCondition& condition);
std::optional<Undecided> undecided_of(const std::vector<Total>& totals, const FailCondition& condition);

// Whether either side has a name that matches the condition. Otherwise a check of a renamed function would
// pass forever.
bool finds_its_name(const DiffReport& report, const FailCondition& condition);
bool finds_its_name(const std::vector<Total>& totals, const FailCondition& condition);
// Whether any figure that the condition covers is judged at all: it has enough samples, waits or readings.
bool is_judged(const DiffReport& report, const FailCondition& condition);
bool is_judged(const std::vector<Total>& totals, const FailCondition& condition);

}  // namespace fathom::analysis
