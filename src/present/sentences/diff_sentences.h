// What differs between two sides, in words, and the figures as people read them.
#pragma once

#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/power.h"
#include "analysis/diff/totals.h"

namespace fathom::present {

// A comparable figure of the report: "11.0 %", "1.25 s", "3.4 MiB".
std::string diff_value(const analysis::DiffReport& report, double value);
// "+5.2 ± 0.9", in points where the figure is a share or a part of a core; "+1.20 s ± 0.10 s" elsewhere. Without "±" where
// nothing is uncertain.
std::string diff_change(const analysis::DiffReport& report, const analysis::Change& change);
// "+6.1 %", of base; "new" or "gone" where one side has nothing.
std::string relative_change(const analysis::Change& change);

// The answer: what changed, and whether that is more than noise.
std::string diff_headline(const analysis::DiffReport& report);
// The same where the totals stand above it: of the functions alone.
std::string diff_parts_sentence(const analysis::DiffReport& report);
// "CPU time 3.70 s → 70 ms, down by a factor of 52 (47 to 58)". `work`: what a unit of work is called.
std::string total_sentence(const analysis::Total& total, const std::string& work);
// What the figures are, how they were made comparable, and what ± says.
std::string diff_legend(const analysis::DiffReport& report);
// The same in a line or two.
std::string diff_short_legend(const analysis::DiffReport& report);
// Why the sides should not be compared; one sentence each.
std::vector<std::string> doubt_sentences(const analysis::DiffReport& report);
// Code without names: what was found by its instructions, and what has nothing in common; "" where all has names.
std::string unmatched_sentence(const analysis::DiffReport& report);
std::string power_sentence(const analysis::Power& power, const std::string& figure);

// "CPU time per second": the metric and the normalisation.
std::string diff_figure_name(const analysis::DiffReport& report);
// "a.fathom", "3 runs".
std::string side_name(const analysis::DiffSide& side);

}  // namespace fathom::present
