#include "analysis/core/tree_places.h"

#include <stdexcept>
#include <tuple>

namespace fathom::analysis {

void refuse_large_tree() {
  throw std::length_error(
      "the call tree is too large: more than 16 million nodes, names or modules, or a billion frames to place");
}

std::vector<std::uint32_t> rank_places(const std::vector<Place>& places,
                                       const std::vector<std::uint32_t>& name_rank,
                                       const std::vector<std::uint32_t>& module_rank) {
  std::vector<std::uint32_t> order(places.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t place) {
    return std::tuple(name_rank[places[place].name], module_rank[places[place].module], places[place].kind);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<std::uint32_t> rank(places.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  return rank;
}

}  // namespace fathom::analysis
