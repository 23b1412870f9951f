// The divisor of a comparison's figures, which makes both sides comparable: time, CPU time, work, the whole,
// or nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "model/metric.h"

namespace fathom::analysis {

// `runs`: base first, `base_runs` of them. Avoids impossible divisions: two different events are compared by
// their shares.
Normalization choose_normalization(const std::vector<const DiffRun*>& runs, std::size_t base_runs,
                                   const DiffOptions& options);

// Whether the spread between runs of the program is assumed: no side has enough runs to measure it.
bool spread_is_assumed(std::size_t base_runs, std::size_t runs);
// Whether single runs on a busy machine only show what other programs left to them. Several runs show that by
// their spread.
bool is_left_over(const std::vector<const DiffRun*>& runs, std::size_t base_runs, const DiffOptions& options);
// ns per value; 1 for a metric that is not a time; 0 if the time of a sample is unknown.
double base_unit(const model::Profile& profile, model::Metric metric);
// The event that a metric's values count: "cpu-clock", "instructions".
std::string counted_by(const DiffRun& run, model::Metric metric);
bool count_the_same(const std::vector<const DiffRun*>& runs, model::Metric metric);
// Whether a file contains negative samples, because it is the difference of two others.
bool any_difference(const std::vector<const DiffRun*>& runs, model::Metric metric);

}  // namespace fathom::analysis
