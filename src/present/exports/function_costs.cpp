#include "present/exports/function_costs.h"

#include <algorithm>

namespace fathom::present {

FunctionCosts::FunctionCosts(const model::Profile& profile, const analysis::Selection& selection,
                             bool fold_generics)
    : profile_(profile),
      frames_(profile, fold_generics, selection.tracer),
      rows_(metric_rows(profile, selection)) {
  for (const CostRow& row : rows_.rows) total_ += row.value;
}

void FunctionCosts::expand(const CostRow& row) {
  places_.clear();
  if (row.cause != 0) places_.push_back({frames_.of_cause(rows_.causes[row.cause]), 0});
  std::uint32_t skip = row.skip;
  for (model::StackId stack = row.stack; stack.value != 0; stack = profile_.stacks[stack.value].parent) {
    const model::FrameId id = profile_.stacks[stack.value].frame;
    const model::Frame& frame = profile_.frames[id.value];
    std::uint32_t line = frame.first_line + skip;
    for (const std::uint32_t call : frames_.of_frame(id, skip))
      places_.push_back({call, frame.line_count == 0 ? 0 : profile_.lines[line++].line});
    skip = 0;
  }
  std::ranges::reverse(places_);
}

}  // namespace fathom::present
