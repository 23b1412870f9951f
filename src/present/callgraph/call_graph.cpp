#include "present/callgraph/call_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/core/empty_selection.h"
#include "analysis/core/words.h"
#include "present/exports/function_costs.h"

namespace fathom::present {
namespace {

constexpr std::uint32_t kLeftOut = UINT32_MAX;

class CallGraphBuilder {
 public:
  CallGraphBuilder(const model::Profile& profile, const CallGraphOptions& options)
      : profile_(profile), options_(options), costs_(profile, options.selection, options.fold_generics) {}

  Result<CallGraph> build() {
    if (costs_.empty()) return tl::unexpected(analysis::nothing_selected(profile_, options_.selection));
    graph_.target = profile_.meta.target;
    graph_.metric = model::info_of(options_.selection.metric).title;
    graph_.unit = analysis::unit_of(profile_, options_.selection);
    graph_.total = costs_.total();
    graph_.least_share = options_.least_share;
    graph_.comments = options_.comments;
    add_up_functions();
    choose_functions();
    add_calls();
    return std::move(graph_);
  }

 private:
  void add_up_functions() {
    std::vector<std::uint64_t> seen;  // number of the row that a function was last counted in
    std::uint64_t number = 0;
    costs_.for_each([&](const std::vector<CallPlace>& places, const CostRow& row) {
      sums_.resize(costs_.calls().size());
      seen.resize(sums_.size());
      ++number;
      for (const CallPlace& place : places)
        if (std::exchange(seen[place.call], number) != number) sums_[place.call].total += row.value;
      if (!places.empty()) sums_[places.back().call].self += row.value;
    });
  }

  void choose_functions() {
    least_ = std::max<std::int64_t>(
        1, std::llround(std::ceil(static_cast<double>(costs_.total()) * options_.least_share)));
    std::vector<std::uint32_t> order(sums_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) { return sums_[i].total; });
    if (options_.most_functions != 0 && order.size() > options_.most_functions)
      order.resize(options_.most_functions);
    std::erase_if(order, [&](std::uint32_t i) { return sums_[i].total < least_; });
    rows_.assign(sums_.size(), kLeftOut);
    for (const std::uint32_t i : order) {
      rows_[i] = static_cast<std::uint32_t>(graph_.functions.size());
      const FrameCall& call = costs_.calls()[i];
      graph_.functions.push_back({call.name.empty() ? "[unknown]" : call.name,
                                  std::string(profile_.strings[profile_.modules[call.module.value].name]),
                                  std::string(call.file), sums_[i].self, sums_[i].total});
    }
    graph_.left_out = sums_.size() - order.size();
  }

  void add_calls() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, CallGraph::Call> calls;
    std::map<std::pair<std::uint32_t, std::uint32_t>, bool> of_row;
    costs_.for_each([&](const std::vector<CallPlace>& places, const CostRow& row) {
      of_row.clear();
      std::uint32_t caller = kLeftOut;
      bool direct = true;
      for (const CallPlace& place : places) {
        const std::uint32_t callee = rows_[place.call];
        if (callee == kLeftOut) {
          direct = false;
          continue;
        }
        if (caller != kLeftOut) of_row[{caller, callee}] |= direct;
        caller = callee;
        direct = true;
      }
      for (const auto& [ends, is_direct] : of_row) {
        CallGraph::Call& call = calls[ends];
        call.value += row.value;
        call.direct |= is_direct;
      }
    });
    for (auto& [ends, call] : calls) {
      if (call.value < least_) continue;
      call.from = ends.first;
      call.to = ends.second;
      graph_.calls.push_back(call);
    }
  }

  struct Sums {
    std::int64_t self = 0, total = 0;
  };

  const model::Profile& profile_;
  const CallGraphOptions& options_;
  FunctionCosts costs_;
  std::vector<Sums> sums_;           // by row of costs_.calls()
  std::vector<std::uint32_t> rows_;  // of the graph, by row of costs_.calls()
  std::int64_t least_ = 0;
  CallGraph graph_;
};

}  // namespace

std::string CallGraph::amount(std::int64_t value) const {
  return analysis::amount(static_cast<double>(value), unit);
}

std::string CallGraph::amount_with_share(std::int64_t value) const {
  return fmt::format("{} ({})", amount(value), analysis::percent(share(value)));
}

std::string CallGraph::omission() const {
  if (left_out == 0) return "";
  return fmt::format("{} and calls of less than {} are left out",
                     analysis::counted(left_out, "smaller function"), analysis::percent(least_share));
}

Result<CallGraph> call_graph_of(const model::Profile& profile, const CallGraphOptions& options) {
  return CallGraphBuilder(profile, options).build();
}

}  // namespace fathom::present
