#include "analysis/core/stack_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analysis/core/heap.h"
#include "analysis/core/waits.h"
#include "base/flat_map.h"
#include "model/exact_count.h"

namespace fathom::analysis {
namespace {

using model::Profile;

class Adder {
 public:
  Adder(const Profile& profile, const TreeOptions& options, CallTree& tree)
      : profile_(profile), options_(options), tree_(tree), by_cause_(1) {}

  StackSums add_up() {
    name_roots();
    const model::Metric metric = tree_.metric;
    add_samples();
    if (metric == model::Metric::kOffCpu || metric == model::Metric::kWall) add_waits();
    if (model::is_heap(metric) && !profile_.heap.empty()) add_heap();
    if (metric == model::Metric::kCpu && model::counts_all(profile_)) {
      tree_.effective_samples = kExact;
    } else if (variance_ > 0) {
      tree_.effective_samples = std::min(kExact, weights_ * weights_ / variance_);
    } else if (tree_.waits > 0 || (model::is_heap(metric) && tree_.samples > 0)) {
      tree_.effective_samples = kExact;
    }
    std::size_t rows = sums_.rows.size();
    for (const auto& sums : by_cause_) rows += sums.size();
    sums_.rows.reserve(rows);
    for (std::size_t cause = 0; cause < by_cause_.size(); ++cause) {
      by_cause_[cause].for_each([&](std::uint64_t key, std::int64_t value) {
        sums_.rows.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key), value,
                              0, static_cast<std::uint8_t>(cause)});
      });
    }
    std::sort(sums_.rows.begin(), sums_.rows.end(), [](const StackSums::Row& a, const StackSums::Row& b) {
      const auto key = [](const StackSums::Row& row) { return std::uint64_t{row.root} << 32 | row.stack; };
      if (key(a) != key(b)) return key(a) < key(b);
      return std::tie(a.cause, a.skip) < std::tie(b.cause, b.skip);
    });
    return std::move(sums_);
  }

 private:
  void name_roots() {
    root_of_thread_.assign(profile_.threads.size(), 0);
    if (!options_.thread_roots) return;
    std::unordered_map<std::string, std::uint32_t> ids;
    for (std::uint32_t i = 0; i < profile_.threads.size(); ++i) {
      std::string name = thread_name(profile_, {i});
      const auto [root, added] = ids.try_emplace(name, static_cast<std::uint32_t>(ids.size()));
      if (added) sums_.root_names.push_back(std::move(name));
      root_of_thread_[i] = root->second;
    }
  }

  void add(model::ThreadId thread, std::uint32_t stack, std::uint8_t cause, std::int64_t value) {
    by_cause_[cause][std::uint64_t{root_of_thread_[thread.value]} << 32 | stack] += value;
  }

  void add_samples() {
    const Filter filter(profile_, options_.selection);
    const bool counts = tree_.unit == "samples";  // a value of 3 is three samples of weight 1
    const bool wall = tree_.metric == model::Metric::kWall;
    const double period = wall ? sample_period_ns(profile_) : 1;
    for (const model::Sample& sample : profile_.all_samples()) {
      if (!filter.takes(sample) || period == 0) {
        if (period != 0 && filter.is_left_to_tracer(sample))
          add_up(tree_.tracer, value_of(sample, tree_.metric, period));
        else if (filter.concerns(sample))
          ++tree_.filtered;
        continue;
      }
      ++tree_.samples;
      const std::int64_t value = budget_.take(value_of(sample, tree_.metric, period));
      const auto weight = static_cast<double>(value);
      weights_ += weight;
      variance_ += counts ? weight : weight * weight;
      add(sample.thread, sample.stack.value, 0, value);
    }
  }

  static void add_up(std::int64_t& sum, std::int64_t value) {
    if (value > 0 && __builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
  }

  void add_waits() {
    const Waits waits(profile_, options_.selection);
    tree_.filtered += waits.filtered();
    std::unordered_set<std::uint32_t> idle_threads;
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      const bool dropped = row.idle && options_.drop_idle;
      if (dropped) {
        idle_threads.insert(wait.thread.value);
        if (__builtin_add_overflow(tree_.idle_ns, weighted_ns(row.waited_ns, waits.weight(row)),
                                   &tree_.idle_ns))
          tree_.idle_ns = INT64_MAX;
        if (row.queued_ns == 0) continue;
      }
      const bool queues = row.queued_ns != 0 && row.queue_cause == Cause::kRunQueue;
      if (queues && options_.drop_queue) {
        add_up(tree_.queue_ns, weighted_ns(row.queued_ns, waits.queue_weight(row)));
        if (row.waited_ns == 0 || dropped) continue;
      }
      ++tree_.samples;
      ++tree_.waits;
      if (row.waited_ns != 0 && !dropped) {
        const bool folded = row.idle && options_.selection.fold_idle;
        const std::uint8_t cause =
            folded ? cause_row(128u + *row.idle, [&] { return waits.idle().frame(*row.idle); })
                   : cause_row(row.cause);
        add_wait(wait.thread, folded ? 0 : wait.stack.value, cause, row.waited_ns, waits.weight(row));
      }
      if (row.queued_ns != 0 && !(queues && options_.drop_queue))
        add_wait(wait.thread, options_.drop_queue ? 0 : wait.stack.value, cause_row(row.queue_cause),
                 row.queued_ns, waits.queue_weight(row));
    }
    tree_.idle_threads = idle_threads.size();
  }

  // Without the kernel's frames at the leaf; of a kernel's thread, which has no others, all.
  std::uint32_t user_part(std::uint32_t stack) const {
    for (std::uint32_t at = stack; at != 0; at = profile_.stacks[at].parent.value) {
      const model::Frame& frame = profile_.frames[profile_.stacks[at].frame.value];
      if (profile_.modules[frame.module.value].kind != model::ModuleKind::kKernel) return at;
    }
    return stack;
  }

  void add_heap() {
    const HeapSums heap(profile_, options_.selection);
    const HeapUnit unit = unit_of_heap(options_.selection);
    HeapLeaves leaves(profile_, options_.selection, false);
    std::vector<double> sums;  // of the rows from `first` on
    std::unordered_map<std::uint64_t, std::size_t> rows;
    const std::size_t first = sums_.rows.size();
    for (std::uint32_t i = 0; i < profile_.heap.sites.size(); ++i) {
      if (!heap.takes({i})) {
        ++tree_.filtered;
        continue;
      }
      const HeapAmount amount = heap.value({i}, tree_.metric, unit);
      if (amount.value == 0 && amount.variance == 0) continue;
      ++tree_.samples;
      variance_ += amount.variance;
      const model::HeapSite& site = profile_.heap.sites[i];
      const HeapLeaf leaf = leaves.of(site.stack);
      const std::uint32_t root =
          site.thread == model::kNoThread ? root_of_no_thread() : root_of_thread_[site.thread.value];
      // Stacks of one row differ in `skip` only if they are different stacks.
      const auto [found, added] = rows.try_emplace(std::uint64_t{root} << 32 | leaf.stack.value, sums.size());
      if (added) {
        sums.push_back(0);
        sums_.rows.push_back({root, leaf.stack.value, 0, leaf.skip});
      }
      sums[found->second] += amount.value;
    }
    // Estimates are no whole numbers. Rounding the running sum and not each row keeps the total right.
    double grown = 0, shrunk = 0;
    std::int64_t written = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] < 0) {
        shrunk -= sums[i];
        continue;
      }
      grown += sums[i];
      StackSums::Row& row = sums_.rows[first + i];
      row.value = budget_.take(whole(grown) - written);
      written += row.value;
      weights_ += static_cast<double>(row.value);
    }
    tree_.shrunk = whole(shrunk);
  }

  static std::int64_t whole(double value) { return std::llround(std::min(value, 4e18)); }

  // If threads were not distinguished.
  std::uint32_t root_of_no_thread() {
    if (!options_.thread_roots) return 0;
    if (!root_of_no_thread_) {
      root_of_no_thread_ = static_cast<std::uint32_t>(sums_.root_names.size());
      sums_.root_names.push_back("[all threads]");
    }
    return *root_of_no_thread_;
  }

  void add_wait(model::ThreadId thread, std::uint32_t stack, std::uint8_t cause, std::uint64_t ns,
                WaitWeight weight) {
    const std::int64_t value = budget_.take(weighted_ns(ns, weight));
    const auto duration = static_cast<double>(ns);
    weights_ += static_cast<double>(value);
    const auto times = static_cast<double>(weight.times);
    variance_ += duration * duration * times * (times - 1);
    add(thread, options_.fold_kernel ? user_part(stack) : stack, cause, value);
  }

  std::uint8_t cause_row(Cause cause) {
    return cause_row(static_cast<std::uint32_t>(cause), [&] { return std::string(frame_of(cause)); });
  }
  // Each used cause gets a row and a map; `number` is a Cause, or 128 + an idle rule.
  template <class Name>
  std::uint8_t cause_row(std::uint32_t number, Name name) {
    std::uint8_t& row = cause_rows_[number];
    if (row == 0) {
      row = static_cast<std::uint8_t>(by_cause_.size());
      by_cause_.emplace_back();
      sums_.causes.push_back(name());
    }
    return row;
  }

  const Profile& profile_;
  const TreeOptions& options_;
  CallTree& tree_;
  StackSums sums_;
  std::vector<std::uint32_t> root_of_thread_;
  std::optional<std::uint32_t> root_of_no_thread_;
  std::vector<FlatMap<std::int64_t>> by_cause_;  // key: root and stack
  std::array<std::uint8_t, 256> cause_rows_{};
  ValueBudget budget_;
  double weights_ = 0, variance_ = 0;
};

}  // namespace

StackSums add_up_stacks(const Profile& profile, const TreeOptions& options, CallTree& tree) {
  return Adder(profile, options, tree).add_up();
}

}  // namespace fathom::analysis
