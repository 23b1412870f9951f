#include "base/stable_sort.h"

#include <algorithm>
#include <numeric>

namespace fathom {

std::vector<std::uint32_t> stable_order(std::uint32_t count,
                                        bool (*less)(const void* context, std::uint32_t a, std::uint32_t b),
                                        const void* context) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return less(context, a, b); });
  return order;
}

}  // namespace fathom
