// The rows of a heap in the order of its slices. Recordings have them in that order but for merged ones and
// for those of several heaps.
#pragma once

#include <cstdint>
#include <vector>

#include "model/heap.h"

namespace fathom::analysis {

class RowsBySlice {
 public:
  // Counts once: two visits per row. `heap` outlives it.
  explicit RowsBySlice(const model::HeapTables& heap) : heap_(heap), first_(heap.slices.size() + 1) {
    for (const model::HeapRow& row : heap.all_rows()) ++first_[row.slice.value + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    order_.resize(heap.all_rows().size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    std::uint32_t at = 0;
    for (const model::HeapRow& row : heap.all_rows()) order_[next[row.slice.value]++] = at++;
  }

  // visit(HeapRow) for each row of the slice, in the order of the table.
  template <class Visit>
  void each(std::uint32_t slice, Visit visit) const {
    const model::Rows<model::HeapRow> rows = heap_.all_rows();
    for (std::uint32_t i = first_[slice]; i < first_[slice + 1]; ++i) visit(rows[order_[i]]);
  }

 private:
  const model::HeapTables& heap_;
  std::vector<std::uint32_t> first_,
      order_;  // the rows of slice i are order_[first_[i]] to order_[first_[i + 1]]
};

}  // namespace fathom::analysis
