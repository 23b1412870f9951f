// What is spent in each cell and slice, added up in two passes over the same costs: the first one counts how many fall into a
// cell, the second one puts each where its cell has room. An hour has millions of them, and a table that looks each up by
// cell and slice would be several times as large as what comes out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/core/selection.h"
#include "base/flat_map.h"
#include "present/page/cost_table.h"

namespace fathom::page {

// Numbers of pairs, in the order in which they were met.
class Pairs {
 public:
  std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    std::uint32_t& row = ids_[std::uint64_t{a} << 32 | b];
    if (row == 0) {
      rows_.push_back({a, b});
      row = static_cast<std::uint32_t>(rows_.size());
    }
    return row - 1;
  }
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& rows() const { return rows_; }

 private:
  FlatMap<std::uint32_t> ids_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_;
};

// Puts the entries of each cell in order of time and makes those of one slice one. What falls into one slice one after another
// is one entry already.
void merge_slices(CostTable& table);

// `walk(visit)` calls visit(thread, node, slice, value) for each cost, and does the same when it is called again. Cells stand
// by thread and node.
template <class Walk>
CostTable add_up_slices(model::Metric metric, Walk walk) {
  CostTable table;
  table.metric = metric;
  Pairs met;
  constexpr std::uint32_t kNoSlice = UINT32_MAX;
  std::vector<std::uint32_t> counts, last;  // `last`: the slice of the cell's last cost
  {
    analysis::ValueBudget budget;
    walk([&](std::uint32_t thread, std::uint32_t node, std::uint32_t slice, std::int64_t value) {
      if (budget.take(value) == 0) return;
      const std::uint32_t cell = met.of(thread, node);
      if (cell == counts.size()) {
        counts.push_back(0);
        last.push_back(kNoSlice);
      }
      if (std::exchange(last[cell], slice) != slice) ++counts[cell];
    });
  }
  std::vector<std::uint32_t> order(counts.size()), next(counts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return met.rows()[a] < met.rows()[b]; });
  for (const std::uint32_t cell : order) {
    table.cells.push_back({met.rows()[cell].first, met.rows()[cell].second});
    next[cell] = table.first.back();
    table.first.push_back(table.first.back() + counts[cell]);
  }
  table.slices.resize(table.first.back());
  table.values.resize(table.first.back());
  std::ranges::fill(last, kNoSlice);
  analysis::ValueBudget budget;
  walk([&](std::uint32_t thread, std::uint32_t node, std::uint32_t slice, std::int64_t value) {
    value = budget.take(value);
    if (value == 0) return;
    const std::uint32_t cell = met.of(thread, node);
    if (std::exchange(last[cell], slice) != slice) table.slices[next[cell]++] = slice;
    table.values[next[cell] - 1] += value;
  });
  merge_slices(table);
  return table;
}

}  // namespace fathom::page
