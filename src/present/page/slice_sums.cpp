#include "present/page/slice_sums.h"

#include <tuple>

#include "base/stable_sort.h"

namespace fathom::page {

void merge_slices(CostTable& table) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> mixed;
  std::uint32_t out = 0;
  for (std::size_t cell = 0; cell < table.cells.size(); ++cell) {
    const std::uint32_t first = table.first[cell], end = table.first[cell + 1], start = out;
    // Samples come in order of time, waits where they began.
    if (!std::is_sorted(table.slices.begin() + first, table.slices.begin() + end)) {
      mixed.clear();
      for (std::uint32_t i = first; i < end; ++i) mixed.emplace_back(table.slices[i], table.values[i]);
      stable_sort_rows(mixed.begin(), mixed.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::uint32_t i = first; i < end; ++i)
        std::tie(table.slices[i], table.values[i]) = mixed[i - first];
    }
    for (std::uint32_t i = first; i < end; ++i) {
      if (out > start && table.slices[out - 1] == table.slices[i]) {
        table.values[out - 1] += table.values[i];
      } else {
        table.slices[out] = table.slices[i];
        table.values[out++] = table.values[i];
      }
    }
    table.first[cell] = start;
  }
  table.first.back() = out;
  table.slices.resize(out);
  table.values.resize(out);
}

}  // namespace fathom::page
