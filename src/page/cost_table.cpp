#include "page/cost_table.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap.h"
#include "analysis/core/selection.h"
#include "analysis/core/waits.h"
#include "analysis/waits/wait_chains.h"
#include "base/flat_map.h"

namespace fathom::page {
namespace {

using model::Metric;

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

class ThreadNames {
 public:
  ThreadNames(const model::Profile& profile, CallNodes& nodes) : nodes_(nodes) {
    for (std::uint32_t i = 0; i < profile.threads.size(); ++i)
      of_thread_.push_back(row(analysis::thread_name(profile, {i})));
  }
  std::uint32_t of(model::ThreadId thread) const { return of_thread_[thread.value]; }
  std::uint32_t of_none() {
    const std::uint32_t all = row("[all threads]");
    rows[all].threads = 0;
    return all;
  }
  const std::vector<std::uint32_t>& of_threads() const { return of_thread_; }
  std::vector<ThreadName> rows;

 private:
  std::uint32_t row(const std::string& name) {
    const std::uint32_t text = nodes_.texts.of(name);
    const auto [found, added] = ids_.try_emplace(text, static_cast<std::uint32_t>(rows.size()));
    if (added) rows.push_back({text, 0});
    ++rows[found->second].threads;
    return found->second;
  }
  CallNodes& nodes_;
  std::unordered_map<std::uint32_t, std::uint32_t> ids_;
  std::vector<std::uint32_t> of_thread_;
};

class CostAdder {
 public:
  explicit CostAdder(Metric metric) { table_.metric = metric; }
  void add(std::uint32_t thread, std::uint32_t node, std::uint32_t slice, std::int64_t value) {
    value = budget_.take(value);
    if (value != 0) values_[std::uint64_t{cells_.of(thread, node)} << 32 | slice] += value;
  }
  CostTable finish() {
    std::vector<std::pair<std::uint64_t, std::int64_t>> entries;
    values_.for_each([&](std::uint64_t key, std::int64_t value) { entries.emplace_back(key, value); });
    std::sort(entries.begin(), entries.end());
    for (const auto& [thread, node] : cells_.rows()) table_.cells.push_back({thread, node});
    for (const auto& [key, value] : entries) {
      while (table_.first.size() <= key >> 32)
        table_.first.push_back(static_cast<std::uint32_t>(table_.slices.size()));
      table_.slices.push_back(static_cast<std::uint32_t>(key));
      table_.values.push_back(value);
    }
    while (table_.first.size() <= table_.cells.size())
      table_.first.push_back(static_cast<std::uint32_t>(table_.slices.size()));
    return std::move(table_);
  }

 private:
  CostTable table_;
  Pairs cells_;
  FlatMap<std::int64_t> values_;
  analysis::ValueBudget budget_;
};

void add_samples(const model::Profile& profile, const TimeSlices& slices, const ThreadNames& threads,
                 CallNodes& nodes, const analysis::Selection& selection, CostAdder& costs) {
  const analysis::Filter filter(profile, selection);
  for (const model::Sample& sample : profile.samples) {
    if (filter.takes(sample))
      costs.add(threads.of(sample.thread), nodes.of_stack(sample.stack), slices.of(sample.time_ns),
                sample.value);
  }
}

// visit(slice, ns inside of it)
template <class Visit>
void for_each_slice(const TimeSlices& slices, std::uint64_t start_ns, std::uint64_t length_ns, Visit visit) {
  if (length_ns == 0) return;
  const std::uint64_t end_ns = start_ns + length_ns;
  std::uint64_t at = start_ns;
  for (std::uint32_t slice = slices.of(start_ns); at < end_ns; ++slice) {
    const std::uint64_t edge =
        slice + 1 < slices.count() ? slices.start_ns() + slices.edge_ns(slice + 1) : end_ns;
    const std::uint64_t until = std::min(edge, end_ns);
    visit(slice, until - at);
    at = until;
  }
}

// The longest first kMostWaitRows of them stay, in order of time.
void keep_longest(Costs& costs) {
  std::vector<WaitRow>& rows = costs.waits;
  if (rows.size() > kMostWaitRows) {
    const auto length = [](const WaitRow& row) { return row.waited_ns + row.queued_ns; };
    std::nth_element(rows.begin(), rows.begin() + kMostWaitRows, rows.end(),
                     [&](const WaitRow& a, const WaitRow& b) {
                       return length(a) != length(b) ? length(a) > length(b) : a.start_ns < b.start_ns;
                     });
    costs.shorter_waits = rows.size() - kMostWaitRows;
    rows.resize(kMostWaitRows);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const WaitRow& a, const WaitRow& b) { return a.start_ns < b.start_ns; });
}

void add_waits(const model::Profile& profile, const TimeSlices& slices, const ThreadNames& threads,
               CallNodes& nodes, const analysis::Selection& selection, CostAdder& costs, Costs& all) {
  const analysis::Waits waits(profile, selection);
  ObjectNames objects(profile);
  CostAdder by_object(Metric::kOffCpu);
  for (const analysis::SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    const std::uint32_t thread = threads.of(wait.thread), node = nodes.of_stack(wait.stack);
    const std::uint32_t object = row.idle ? 0 : objects.of(wait, row.cause);
    if (!row.idle && row.waited_ns != 0) {
      const bool ended = analysis::is_ended_by_a_thread(row.cause);
      all.waits.push_back({wait.start_ns - std::min(wait.start_ns, profile.meta.start_ns), row.waited_ns,
                           row.queued_ns, wait.thread, ended ? wait.waker : model::kNoThread,
                           ended ? wait.waker_stack : model::StackId{}, 0, object,
                           nodes.cause_below(node, analysis::frame_of(row.cause), false), row.weight});
    }
    if (row.waited_ns != 0) {
      const std::uint32_t leaf = row.idle ? nodes.cause_below(node, waits.idle().frame(*row.idle), true)
                                          : nodes.cause_below(node, analysis::frame_of(row.cause), false);
      for_each_slice(slices, wait.start_ns, row.waited_ns, [&](std::uint32_t slice, std::uint64_t ns) {
        costs.add(thread, leaf, slice, analysis::weighted_ns(ns, row.weight));
        if (object != 0) by_object.add(object, leaf, slice, analysis::weighted_ns(ns, row.weight));
      });
    }
    if (row.queued_ns != 0) {
      const std::uint32_t leaf = nodes.cause_below(node, analysis::frame_of(row.queue_cause), false);
      for_each_slice(slices, wait.start_ns + wait.waited_ns, row.queued_ns,
                     [&](std::uint32_t slice, std::uint64_t ns) {
                       costs.add(thread, leaf, slice, analysis::weighted_ns(ns, row.weight));
                     });
    }
  }
  keep_longest(all);
  for (WaitRow& row : all.waits) row.waker_node = nodes.of_stack(row.waker_stack);
  all.by_object = by_object.finish();
  all.objects = std::move(objects.rows);
}

HeapTable add_up_heap(const model::Profile& profile, const TimeSlices& slices, ThreadNames& threads,
                      CallNodes& nodes, std::vector<std::uint32_t>& cell_of_site) {
  const model::HeapTables& heap = profile.heap;
  analysis::Selection selection;
  selection.metric = Metric::kHeapPeak;
  selection.fold_containers = true;
  const analysis::HeapSums sums(profile, selection);
  analysis::HeapLeaves leaves(profile, selection, true);
  Pairs pairs;  // of thread names and stacks
  HeapTable table;
  for (std::uint32_t i = 0; i < heap.sites.size(); ++i) {
    const model::HeapSite& site = heap.sites[i];
    const std::uint32_t thread =
        site.thread == model::kNoThread ? threads.of_none() : threads.of(site.thread);
    const analysis::HeapLeaf leaf = leaves.of(site.stack);
    const std::uint32_t cell = pairs.of(thread, leaf.stack.value);
    if (cell == table.cells.size()) {
      table.cells.push_back({thread, nodes.of_leaf(leaf)});
      table.peak.emplace_back();
    }
    const analysis::HeapAmounts& peak = sums.peak().sites[i];
    table.peak[cell].blocks += peak.blocks.value;
    table.peak[cell].bytes += peak.bytes.value;
    cell_of_site.push_back(cell);
  }
  std::vector<std::pair<std::uint64_t, const model::HeapRow*>> rows;
  for (const model::HeapRow& row : heap.rows) {
    const model::HeapSlice& slice = heap.slices[row.slice.value];
    // A slice of the heap belongs where its middle lies (analysis/core/heap.h).
    const std::uint32_t at = slices.of(slice.start_ns + (slice.end_ns - slice.start_ns) / 2);
    rows.emplace_back(std::uint64_t{cell_of_site[row.site.value]} << 32 | at, &row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint64_t last = ~std::uint64_t{0};
  for (const auto& [key, row] : rows) {
    while (table.first.size() <= key >> 32)
      table.first.push_back(static_cast<std::uint32_t>(table.entries.size()));
    if (key != last) table.entries.push_back({static_cast<std::uint32_t>(key), {}, {}});
    last = key;
    HeapEntry& entry = table.entries.back();
    entry.allocated.blocks += row->allocated.blocks;
    entry.allocated.bytes += row->allocated.bytes;
    entry.freed.blocks += row->freed.blocks;
    entry.freed.bytes += row->freed.bytes;
  }
  while (table.first.size() <= table.cells.size())
    table.first.push_back(static_cast<std::uint32_t>(table.entries.size()));
  return table;
}

}  // namespace

std::uint64_t wait_entries(const model::Profile& profile, const TimeSlices& slices) {
  std::uint64_t entries = 0;
  for (const model::Wait& wait : profile.waits)
    entries += 2 + slices.of(wait.start_ns + wait.waited_ns + wait.queued_ns) - slices.of(wait.start_ns);
  return entries;
}

Costs add_up_costs(const model::Profile& profile, const TimeSlices& slices, CallNodes& nodes) {
  Costs costs;
  ThreadNames threads(profile, nodes);
  costs.has_heap = !profile.heap.empty();
  for (const Metric metric : analysis::metrics_in(profile)) {
    // Wall is the sum of two others; what follows from the heap tables is added up from them.
    if (metric > model::kLastSampleMetric || metric == Metric::kWall) continue;
    if (model::is_heap(metric) && costs.has_heap) continue;
    analysis::Selection selection;
    selection.metric = metric;
    selection.fold_idle = true;
    CostAdder adder(metric);
    add_samples(profile, slices, threads, nodes, selection, adder);
    if (metric == Metric::kOffCpu) add_waits(profile, slices, threads, nodes, selection, adder, costs);
    costs.tables.push_back(adder.finish());
  }
  if (costs.has_heap) {
    std::vector<std::uint32_t> cell_of_site;
    costs.heap = add_up_heap(profile, slices, threads, nodes, cell_of_site);
    costs.shapes = shapes_of(profile, cell_of_site);
  }
  costs.thread_names = threads.of_threads();
  costs.threads = std::move(threads.rows);
  return costs;
}

}  // namespace fathom::page
