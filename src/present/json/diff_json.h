// A comparison for scripts; docs/diff.md says what the keys mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/fail_condition.h"
#include "analysis/diff/memory_diff.h"
#include "analysis/diff/totals.h"
#include "analysis/summary/side_quality.h"

namespace fathom::present {

inline constexpr int kDiffJsonVersion = 1;  // grows when a key changes its meaning or goes

struct FailedCondition {
  analysis::FailCondition condition;
  model::Metric metric = model::Metric::kCpu;
  std::vector<analysis::Failure> failures;
};

// The reports are of one comparison, a metric each. Ends with a newline.
std::string diff_json(const std::vector<analysis::DiffReport>& reports,
                      const std::vector<FailedCondition>& failed,
                      const analysis::MemoryDiff* memory = nullptr,
                      const analysis::DiffQuality* quality = nullptr,
                      const std::vector<analysis::Total>& totals = {});

}  // namespace fathom::present
