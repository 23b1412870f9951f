// What exports are made of: the selected samples, waits and sites of the heap, added up by thread, stack and cause. A call tree
// has the same values without threads of their own, addresses and lines, which other tools ask for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::present {

struct CostRow {
  model::ThreadId thread = model::kNoThread;  // kNoThread: threads were not distinguished
  model::StackId stack;
  std::uint32_t skip = 0;   // lines of the leaf frame, innermost first, that are left out
  std::uint32_t cause = 0;  // row of CostRows::causes: a frame above the leaf; 0: none
  std::int64_t count = 0;   // rows of samples; waits with those that they stand for
  std::int64_t value = 0;   // in the unit of the selection
};

struct CostRows {
  std::vector<CostRow> rows;            // by thread, stack and cause
  std::vector<std::string> causes{""};  // "[wait: futex]", "[run queue]", "(idle: tokio worker)"
};

// Samples, and for off-cpu and wall also waits. Values add up to what the call tree of the selection has of them.
CostRows sample_rows(const model::Profile& profile, const analysis::Selection& selection);

// One site of the heap, in the order of the sites.
struct HeapCostRow {
  model::HeapSiteId site;
  model::ThreadId thread = model::kNoThread;
  model::StackId stack;
  std::uint32_t skip = 0;  // as CostRow::skip: the allocator's own frames are left out
};
// Those that the selection takes. `sums` is of the same selection.
std::vector<HeapCostRow> heap_rows(const model::Profile& profile, const analysis::Selection& selection,
                                   const analysis::HeapSums& sums);

// Samples, waits and sites of the heap of any metric, in the unit of the selection, sites behind samples. Rows that cost nothing are
// left out; the others add up to what the call tree of the selection has.
CostRows metric_rows(const model::Profile& profile, const analysis::Selection& selection);

// Turns estimates into whole numbers whose sum is that of the estimates, rounded, and fits into 64 bits.
class WholeSum {
 public:
  std::int64_t take(double value);

 private:
  double sum_ = 0;
  std::int64_t written_ = 0;
};

}  // namespace fathom::present
