// What functions cost and what the calls between them cost, as graphs of calls have it: pairs of functions instead of stacks. A
// function that stands on a stack several times counts once, and so does a call, so no total is more than the whole.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/selection.h"
#include "present/exports/cost_rows.h"
#include "present/exports/frame_lines.h"

namespace fathom::present {

// A function at one of its lines; the line is 0 if unknown.
struct CallPlace {
  std::uint32_t call = 0;  // row of FrameLines::calls()
  std::uint32_t line = 0;
  auto operator<=>(const CallPlace&) const = default;
};

class FunctionCosts {
 public:
  FunctionCosts(const model::Profile& profile, const analysis::Selection& selection, bool fold_generics);

  // visit(places, row) for each row of costs: its places outermost first, with that of its cause at the end.
  // `places` may be empty: the stack is unknown.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (const CostRow& row : rows_.rows) {
      expand(row);
      visit(std::as_const(places_), row);
    }
  }
  const std::vector<FrameCall>& calls() const { return frames_.calls(); }
  std::int64_t total() const { return total_; }
  bool empty() const { return rows_.rows.empty(); }

 private:
  void expand(const CostRow& row);

  const model::Profile& profile_;
  FrameLines frames_;
  CostRows rows_;
  std::vector<CallPlace> places_;
  std::int64_t total_ = 0;
};

}  // namespace fathom::present
