// What the figures of a comparison are, how far they can be trusted, and why two sides should not be compared.
#pragma once

#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/power.h"

namespace fathom::present {

// What the figures are, how they were made comparable, and what ± says.
std::string diff_legend(const analysis::DiffReport& report);
// The same in a line or two.
std::string diff_short_legend(const analysis::DiffReport& report);
// Why the sides should not be compared; one sentence each.
std::vector<std::string> doubt_sentences(const analysis::DiffReport& report);
// Code without names: what was found by its instructions, and what has nothing in common; "" where all has names.
std::string unmatched_sentence(const analysis::DiffReport& report);
// How small a change of `figure` the recordings can show, and what it takes to show a smaller one.
std::string power_sentence(const analysis::Power& power, const std::string& figure);

}  // namespace fathom::present
