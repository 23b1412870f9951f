#include "analysis/summary/runtime_costs.h"

#include <algorithm>
#include <array>
#include <functional>

#include "analysis/core/common_costs.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

// What a stack is walked for counts as such: a logger that prints backtraces throws nothing.
constexpr std::array<std::string_view, 4> kWorks = {"throwing exceptions", "garbage collection",
                                                    "starting programs", "walking stacks"};
constexpr std::uint8_t kNoWork = kWorks.size(), kNotAsked = kNoWork + 1;

std::uint8_t work_of(std::string_view name) {
  const auto cost = common_cost(name);
  const auto found = cost ? std::ranges::find(kWorks, *cost) : kWorks.end();
  return static_cast<std::uint8_t>(found - kWorks.begin());
}

}  // namespace

std::vector<RuntimeCost> find_runtime_costs(const CallTree& tree) {
  if (tree.metric != model::Metric::kCpu) return {};
  std::vector<std::uint8_t> works(tree.names.size(), kNotAsked);
  std::array<std::int64_t, kWorks.size()> sums{};
  for (std::size_t i = 1; i < tree.nodes.size();) {
    const TreeNode& node = tree.nodes[i];
    std::uint8_t& work = works[node.name];
    if (work == kNotAsked) work = work_of(tree.name(node));
    if (work == kNoWork || node.kind == NodeKind::kThread) {
      ++i;
      continue;
    }
    sums[work] += node.total;
    while (++i < tree.nodes.size() && tree.nodes[i].depth > node.depth) {
    }
  }
  std::vector<RuntimeCost> costs;
  for (std::size_t i = 0; i < kWorks.size(); ++i)
    if (sums[i] > 0) costs.push_back({std::string(kWorks[i]), sums[i]});
  stable_sort_rows(costs, std::ranges::greater(), &RuntimeCost::value);
  return costs;
}

}  // namespace fathom::analysis
