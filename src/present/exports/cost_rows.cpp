#include "present/exports/cost_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/core/waits.h"
#include "base/flat_map.h"

namespace fathom::present {
namespace {

using model::Metric;

class Adder {
 public:
  Adder(const model::Profile& profile, const analysis::Selection& selection)
      : profile_(profile), selection_(selection) {}

  CostRows add_up() {
    add_samples();
    if (selection_.metric == Metric::kOffCpu || selection_.metric == Metric::kWall) add_waits();
    std::ranges::sort(rows_.rows, {}, [](const CostRow& row) {
      return std::tuple(row.thread.value, row.stack.value, row.cause);
    });
    return std::move(rows_);
  }

 private:
  void add(model::ThreadId thread, model::StackId stack, std::uint32_t cause, std::int64_t count,
           std::int64_t value) {
    if (known_.size() <= cause) known_.resize(cause + 1);
    std::uint32_t& number = known_[cause][std::uint64_t{thread.value} << 32 | stack.value];
    if (number == 0) {
      rows_.rows.push_back({thread, stack, 0, cause, 0, 0});
      number = static_cast<std::uint32_t>(rows_.rows.size());
    }
    CostRow& row = rows_.rows[number - 1];
    row.count += counts_.take(count);
    row.value += values_.take(value);
  }

  void add_samples() {
    const analysis::Filter filter(profile_, selection_);
    const double period = selection_.metric == Metric::kWall ? analysis::sample_period_ns(profile_) : 1;
    if (period == 0) return;  // the rate is not known, so no time is
    for (const model::Sample& sample : profile_.samples)
      if (filter.takes(sample))
        add(sample.thread, sample.stack, 0, 1, analysis::value_of(sample, selection_.metric, period));
  }

  void add_waits() {
    const analysis::Waits waits(profile_, selection_);
    for (const analysis::SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      const bool folded = row.idle && selection_.fold_idle;
      if (row.waited_ns != 0)
        add(wait.thread, folded ? model::StackId{0} : wait.stack,
            cause_row(folded ? waits.idle().frame(*row.idle) : std::string(analysis::frame_of(row.cause))),
            row.weight, analysis::weighted_ns(row.waited_ns, waits.weight(row)));
      // The way back to a CPU is a part of the wait before it, and counts alone where there was none.
      if (row.queued_ns != 0)
        add(wait.thread, wait.stack, cause_row(std::string(analysis::frame_of(row.queue_cause))),
            row.waited_ns != 0 ? 0 : row.weight,
            analysis::weighted_ns(row.queued_ns, waits.queue_weight(row)));
    }
  }

  std::uint32_t cause_row(std::string name) {
    const auto [known, added] =
        causes_.try_emplace(std::move(name), static_cast<std::uint32_t>(rows_.causes.size()));
    if (added) rows_.causes.push_back(known->first);
    return known->second;
  }

  const model::Profile& profile_;
  const analysis::Selection& selection_;
  CostRows rows_;
  std::vector<FlatMap<std::uint32_t>> known_;  // by cause; row number + 1 by thread and stack
  std::map<std::string, std::uint32_t> causes_;
  analysis::ValueBudget counts_, values_;
};

}  // namespace

CostRows sample_rows(const model::Profile& profile, const analysis::Selection& selection) {
  return Adder(profile, selection).add_up();
}

std::vector<HeapCostRow> heap_rows(const model::Profile& profile, const analysis::Selection& selection,
                                   const analysis::HeapSums& sums) {
  std::vector<HeapCostRow> rows;
  analysis::HeapLeaves leaves(profile, selection, false);
  for (std::uint32_t i = 0; i < profile.heap.sites.size(); ++i) {
    if (!sums.takes({i})) continue;
    const model::HeapSite& site = profile.heap.sites[i];
    const analysis::HeapLeaf leaf = leaves.of(site.stack);
    rows.push_back({{i}, site.thread, leaf.stack, leaf.skip});
  }
  return rows;
}

CostRows metric_rows(const model::Profile& profile, const analysis::Selection& selection) {
  CostRows costs = sample_rows(profile, selection);
  if (model::is_heap(selection.metric) && !profile.heap.empty()) {
    const analysis::HeapSums sums(profile, selection);
    WholeSum whole;
    for (const HeapCostRow& row : heap_rows(profile, selection, sums)) {
      const double value = sums.value(row.site, selection.metric, analysis::unit_of_heap(selection)).value;
      if (value > 0) costs.rows.push_back({row.thread, row.stack, row.skip, 0, 1, whole.take(value)});
    }
  }
  std::erase_if(costs.rows, [](const CostRow& row) { return row.value <= 0; });
  return costs;
}

std::int64_t WholeSum::take(double value) {
  sum_ += value;
  const std::int64_t whole = std::llround(std::clamp(sum_, -4e18, 4e18));
  const std::int64_t part = whole - written_;
  written_ = whole;
  return part;
}

}  // namespace fathom::present
