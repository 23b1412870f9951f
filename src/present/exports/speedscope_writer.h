// Files of speedscope (its file-format-schema.json): one sampled profile for each thread and metric, before those of a metric one
// of all threads together. Weights are what was measured: nanoseconds for CPU samples at a known rate and for waits, bytes of the
// heap; nothing of what happened between two samples is charged to the first. Stacks that are equal stand as one, in the order of
// the call tree.
#pragma once

#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct SpeedscopeOptions {
  analysis::Selection selection = {};       // its metric is not asked
  std::vector<model::Metric> metrics = {};  // empty: cpu and off-cpu, else the selection's
  bool fold_generics = false;
  std::size_t most_threads = 200;          // of each metric, the largest; the others stand as one
  std::vector<std::string> comments = {};  // sentences: what is known about the truth of the numbers
};

// kNotFound where there is nothing of these metrics in the selection.
Result<std::string> write_speedscope(const model::Profile& profile, const SpeedscopeOptions& options);

}  // namespace fathom::present
