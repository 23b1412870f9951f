// By what the figures of a comparison are divided, so that both sides are comparable: time, CPU time, work, the whole, or nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "model/metric.h"

namespace fathom::analysis {

// `runs`: base first, `base_runs` of them. What cannot be divided is not: two different events are compared by their shares.
Normalization choose_normalization(const std::vector<const DiffRun*>& runs, std::size_t base_runs,
                                   const DiffOptions& options);

// Whether the distance of a single run from others of its program is assumed: no side has enough runs to measure it.
bool spread_is_assumed(std::size_t base_runs, std::size_t runs);
// What a single run used is what others on the machine left to it; several runs show that by their spread.
bool is_left_over(const std::vector<const DiffRun*>& runs, std::size_t base_runs, const DiffOptions& options);
// ns of a value; 1 for a metric that is no time; 0 if the time of a sample is unknown.
double base_unit(const model::Profile& profile, model::Metric metric);
// What the values of a metric count: "cpu-clock", "instructions".
std::string counted_by(const DiffRun& run, model::Metric metric);
bool count_the_same(const std::vector<const DiffRun*>& runs, model::Metric metric);
// Whether a file holds negative samples: it is the difference of two others.
bool any_difference(const std::vector<const DiffRun*>& runs, model::Metric metric);

}  // namespace fathom::analysis
