#include "present/page/cost_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap.h"
#include "analysis/core/selection.h"
#include "analysis/core/waits.h"
#include "analysis/waits/wait_chains.h"
#include "present/page/slice_sums.h"

namespace fathom::page {
namespace {

using model::Metric;

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

template <class Visit>
void walk_samples(const model::Profile& profile, const TimeSlices& slices, const ThreadNames& threads,
                  CallNodes& nodes, const analysis::Selection& selection, Visit visit) {
  const analysis::Filter filter(profile, selection);
  for (const model::Sample& sample : profile.all_samples()) {
    if (filter.takes(sample))
      visit(threads.of(sample.thread), nodes.of_stack(sample.stack), slices.of(sample.time_ns), sample.value);
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

// Of millions of waits, the longest kMostWaitRows.
class LongestWaits {
 public:
  explicit LongestWaits(Costs& costs) : rows_(costs.waits), shorter_(costs.shorter_waits) {}
  void add(WaitRow row) {
    rows_.push_back(row);
    if (rows_.size() == 2 * kMostWaitRows) keep();
  }
  // Puts them in order of time.
  void finish() {
    keep();
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const WaitRow& a, const WaitRow& b) { return a.start_ns < b.start_ns; });
  }

 private:
  void keep() {
    if (rows_.size() <= kMostWaitRows) return;
    const auto length = [](const WaitRow& row) { return row.waited_ns + row.queued_ns; };
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(kMostWaitRows);
    std::nth_element(rows_.begin(), end, rows_.end(), [&](const WaitRow& a, const WaitRow& b) {
      return length(a) != length(b) ? length(a) > length(b) : a.start_ns < b.start_ns;
    });
    shorter_ += static_cast<std::uint64_t>(rows_.end() - end);
    rows_.erase(end, rows_.end());
  }
  std::vector<WaitRow>& rows_;
  std::uint64_t& shorter_;
};

// The waits of a profile, as costs of their causes below their stacks.
class WaitCosts {
 public:
  WaitCosts(const model::Profile& profile, const TimeSlices& slices, const ThreadNames& threads,
            CallNodes& nodes, const analysis::Selection& selection)
      : profile_(profile), slices_(slices), threads_(threads), nodes_(nodes), waits_(profile, selection) {}

  // visit(thread, node, slice, ns); `by_object`: the object in the place of the thread, and only what has one.
  template <class Visit>
  void walk(bool by_object, Visit visit) {
    for (const analysis::SelectedWait& row : waits_.rows()) {
      const model::Wait& wait = waits_.wait(row);
      const std::uint32_t of = by_object ? object_of(row) : threads_.of(wait.thread);
      if (by_object && of == 0) continue;
      const std::uint32_t node = nodes_.of_stack(wait.stack);
      if (row.waited_ns != 0)
        spread(wait.start_ns, row.waited_ns, of, leaf_of(row, node), waits_.weight(row), visit);
      if (row.queued_ns != 0 && !by_object)
        spread(wait.start_ns + wait.waited_ns, row.queued_ns, of,
               nodes_.below(node, place_of(row.queue_cause)), waits_.queue_weight(row), visit);
    }
  }

  // The longest that are not idle, and what was waited for.
  void collect(Costs& costs) {
    LongestWaits longest(costs);
    for (const analysis::SelectedWait& row : waits_.rows()) {
      if (row.idle || row.waited_ns == 0) continue;
      const model::Wait& wait = waits_.wait(row);
      const bool ended = analysis::is_ended_by_a_thread(row.cause);
      longest.add({wait.start_ns - std::min(wait.start_ns, profile_.meta.start_ns), row.waited_ns,
                   row.queued_ns, wait.thread, ended ? wait.waker : model::kNoThread,
                   ended ? wait.waker_stack : model::StackId{}, 0, object_of(row),
                   leaf_of(row, nodes_.of_stack(wait.stack)), row.weight});
    }
    longest.finish();
    for (WaitRow& row : costs.waits) row.waker_node = nodes_.of_stack(row.waker_stack);
    costs.objects = objects_.rows;
  }

 private:
  std::uint32_t object_of(const analysis::SelectedWait& row) {
    return row.idle ? 0 : objects_.of(waits_.wait(row), row.cause);
  }
  std::uint32_t leaf_of(const analysis::SelectedWait& row, std::uint32_t node) {
    return nodes_.below(node, row.idle ? place_of_rule(*row.idle) : place_of(row.cause));
  }
  // Each text is looked up once, and not for each of millions of waits. Place 0 is the root's.
  std::uint32_t place_of(analysis::Cause cause) {
    std::uint32_t& place = causes_[static_cast<std::size_t>(cause)];
    if (place == 0) place = nodes_.place_of_cause(analysis::frame_of(cause), false);
    return place;
  }
  std::uint32_t place_of_rule(std::uint8_t rule) {
    std::uint32_t& place = rules_[rule];
    if (place == 0) place = nodes_.place_of_cause(waits_.idle().frame(rule), true);
    return place;
  }
  template <class Visit>
  void spread(std::uint64_t start_ns, std::uint64_t length_ns, std::uint32_t of, std::uint32_t leaf,
              analysis::WaitWeight weight, Visit& visit) {
    for_each_slice(slices_, start_ns, length_ns, [&](std::uint32_t slice, std::uint64_t ns) {
      visit(of, leaf, slice, analysis::weighted_ns(ns, weight));
    });
  }

  const model::Profile& profile_;
  const TimeSlices& slices_;
  const ThreadNames& threads_;
  CallNodes& nodes_;
  analysis::Waits waits_;
  ObjectNames objects_{profile_};
  std::array<std::uint32_t, analysis::kCauseCount> causes_{};  // places
  std::array<std::uint32_t, UINT8_MAX + 1> rules_{};           // the same of idle rules
};

void merge_heap_slices(HeapTable& table) {
  std::uint32_t out = 0;
  for (std::size_t cell = 0; cell < table.cells.size(); ++cell) {
    const auto first = table.entries.begin() + table.first[cell],
               end = table.entries.begin() + table.first[cell + 1];
    const auto by_slice = [](const HeapEntry& a, const HeapEntry& b) { return a.slice < b.slice; };
    if (!std::is_sorted(first, end, by_slice)) std::stable_sort(first, end, by_slice);
    table.first[cell] = out;
    for (auto entry = first; entry != end; ++entry) {
      if (out == table.first[cell] || table.entries[out - 1].slice != entry->slice) {
        table.entries[out++] = *entry;
        continue;
      }
      HeapEntry& sum = table.entries[out - 1];
      sum.allocated.blocks += entry->allocated.blocks;
      sum.allocated.bytes += entry->allocated.bytes;
      sum.freed.blocks += entry->freed.blocks;
      sum.freed.bytes += entry->freed.bytes;
    }
  }
  table.first.back() = out;
  table.entries.resize(out);
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
  // Rows are counted, put where their cell has room, and those of one slice are made one.
  std::vector<std::uint32_t> next(table.cells.size());
  for (const model::HeapRow& row : heap.all_rows()) ++next[cell_of_site[row.site.value]];
  for (std::uint32_t& count : next) {
    const std::uint32_t first = table.first.back();
    table.first.push_back(first + count);
    count = first;
  }
  table.entries.resize(table.first.back());
  for (const model::HeapRow& row : heap.all_rows()) {
    const model::HeapSlice& slice = heap.slices[row.slice.value];
    // A slice of the heap belongs where its middle lies (analysis/core/heap.h).
    const std::uint32_t middle = slices.of(slice.start_ns + (slice.end_ns - slice.start_ns) / 2);
    const std::int32_t at = is_opening(slice, profile.meta.start_ns) ? -1 : static_cast<std::int32_t>(middle);
    table.entries[next[cell_of_site[row.site.value]]++] = {at, row.allocated, row.freed};
  }
  merge_heap_slices(table);
  return table;
}

}  // namespace

std::uint64_t wait_entries(const model::Profile& profile, const TimeSlices& slices) {
  std::uint64_t entries = 0;
  for (const model::Wait& wait : profile.all_waits())
    entries += 2 + slices.of(wait.start_ns + wait.waited_ns + wait.queued_ns) - slices.of(wait.start_ns);
  return entries;
}

Costs add_up_costs(const model::Profile& profile, const TimeSlices& slices, CallNodes& nodes,
                   const LetGo& let_go) {
  Costs costs;
  ThreadNames threads(profile, nodes);
  costs.has_heap = !profile.heap.empty();
  std::vector<analysis::Selection> metrics;
  for (const Metric metric : analysis::metrics_in(profile)) {
    // Wall is the sum of two others; what follows from the heap tables is added up from them.
    if (metric > model::kLastSampleMetric || metric == Metric::kWall) continue;
    if (model::is_heap(metric) && costs.has_heap) continue;
    metrics.emplace_back();
    metrics.back().metric = metric;
    metrics.back().fold_idle = true;
  }
  std::optional<WaitCosts> waits;
  const auto walk_all = [&](const analysis::Selection& selection, auto visit) {
    walk_samples(profile, slices, threads, nodes, selection, visit);
    if (selection.metric != Metric::kOffCpu) return;
    if (!waits) waits.emplace(profile, slices, threads, nodes, selection);
    waits->walk(false, visit);
  };
  // All calls are known before the first cost is put down: they then stand in the order of a walk, and costs in theirs.
  for (const analysis::Selection& selection : metrics)
    walk_all(selection, [](std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t) {});
  if (waits) waits->collect(costs);
  std::vector<std::uint32_t> cell_of_site;
  if (costs.has_heap) {
    costs.heap = add_up_heap(profile, slices, threads, nodes, cell_of_site);
    costs.shapes = shapes_of(profile, cell_of_site);
    if (let_go) let_go(Piece::kHeapRows);
  }
  const std::vector<std::uint32_t> moved = nodes.put_in_order();
  for (WaitRow& row : costs.waits) {
    row.node = moved[row.node];
    row.waker_node = moved[row.waker_node];
  }
  for (Cell& cell : costs.heap.cells) cell.node = moved[cell.node];
  for (const analysis::Selection& selection : metrics)
    costs.tables.push_back(add_up_slices(selection.metric, [&](auto visit) { walk_all(selection, visit); }));
  if (waits) costs.by_object = add_up_slices(Metric::kOffCpu, [&](auto visit) { waits->walk(true, visit); });
  waits.reset();
  if (let_go) let_go(Piece::kSamplesAndWaits);
  costs.thread_names = threads.of_threads();
  costs.threads = std::move(threads.rows);
  return costs;
}

}  // namespace fathom::page
