// What differs between two sides, in words.
#pragma once

#include <string>

#include "analysis/diff/diff.h"
#include "analysis/diff/totals.h"

namespace fathom::present {

// The answer: what changed, and whether that is more than noise.
std::string diff_headline(const analysis::DiffReport& report);
// The same where the totals stand above it: of the functions alone.
std::string diff_parts_sentence(const analysis::DiffReport& report);
// "CPU time 3.70 s → 70 ms, down by a factor of 52 (47 to 58)". `work`: what a unit of work is called.
std::string total_sentence(const analysis::Total& total, const std::string& work);

}  // namespace fathom::present
