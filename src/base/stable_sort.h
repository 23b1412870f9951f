// std::stable_sort in little code: one merge sort, compiled once, puts the numbers of the rows in order, and the rows move once
// at the end. Each std::stable_sort is a merge sort of its own, 4 KB of code for each kind of row and each order. Use it where
// rows are few or sorted once; where millions are sorted, a comparison that is inlined is worth its code.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace fathom {

// The numbers 0 .. count - 1 in the order of `less(context, a, b)`; equal ones stay as they are.
std::vector<std::uint32_t> stable_order(std::uint32_t count,
                                        bool (*less)(const void* context, std::uint32_t a, std::uint32_t b),
                                        const void* context);

// Row i becomes the one that was row order[i]. Leaves `order` as 0, 1, 2, ...
template <class Rows>  // an iterator with random access
void put_in_order(Rows rows, std::vector<std::uint32_t>& order) {
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    auto first = std::move(rows[start]);
    std::uint32_t to = start;
    while (order[to] != start) {
      const std::uint32_t from = order[to];
      rows[to] = std::move(rows[from]);
      order[to] = to;
      to = from;
    }
    rows[to] = std::move(first);
    order[to] = to;
  }
}

template <class Iterator, class Less = std::less<>>
requires std::random_access_iterator<Iterator>
void stable_sort_rows(Iterator first, Iterator last, Less less = {}) {
  struct Context {
    Iterator rows;
    Less& less;
  } const context{first, less};
  std::vector<std::uint32_t> order = stable_order(
      static_cast<std::uint32_t>(last - first),
      [](const void* given, std::uint32_t a, std::uint32_t b) {
        const Context& in = *static_cast<const Context*>(given);
        return static_cast<bool>(in.less(std::as_const(in.rows[a]), std::as_const(in.rows[b])));
      },
      &context);
  put_in_order(first, order);
}

template <class Rows, class Less = std::ranges::less, class Projection = std::identity>
requires requires(Rows& rows) {
  rows.begin();
}
void stable_sort_rows(Rows& rows, Less less = {}, Projection projection = {}) {
  stable_sort_rows(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    return std::invoke(less, std::invoke(projection, a), std::invoke(projection, b));
  });
}

}  // namespace fathom
