#include "analysis/summary/heap_report.h"
#include "analysis/core/heap_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/heap/heap_history.h"
#include "analysis/heap/untraced_processes.h"
#include "analysis/memory/rss_breakdown.h"
#include "base/stable_sort.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

using namespace model;

double seconds_into(const Profile& profile, std::uint64_t time_ns) {
  const std::uint64_t start = profile.meta.start_ns;
  return time_ns >= start ? static_cast<double>(time_ns - start) * 1e-9
                          : -static_cast<double>(start - time_ns) * 1e-9;
}

std::vector<HeapFunctionRow> functions_of(const Profile& profile, const Selection& selection,
                                          const HeapSums& sums) {
  HeapLeaves leaves(profile, selection, true);
  const ShownCalls shown(profile, selection.stacks.get());
  std::vector<double> longest(profile.heap.sites.size());
  for (const HeapSummary& row : profile.heap.summaries)
    longest[row.site.value] = std::max(longest[row.site.value], static_cast<double>(row.longest_ns) * 1e-9);
  std::map<std::pair<std::string, std::string>, HeapFunctionRow> rows;
  for (std::uint32_t i = 0; i < profile.heap.sites.size(); ++i) {
    const HeapSiteSums& site = sums.sites()[i];
    const HeapAmounts& peak = sums.peak().sites[i];
    if (!sums.takes({i}) || (site.allocated.blocks.value == 0 && site.live.blocks.value == 0 &&
                             site.freed.blocks.value == 0 && peak.blocks.value == 0))
      continue;
    auto name = function_that_asked(profile, leaves, profile.heap.sites[i].stack, &shown);
    HeapFunctionRow& row = rows[name];
    row.name = name.first;
    row.module = name.second;
    row.allocated.add(site.allocated);
    row.freed.add(site.freed);
    row.live.add(site.live);
    row.growth.add(site.growth);
    row.peak.add(peak);
    row.temporary.blocks += site.temporary.blocks;
    row.temporary.bytes += site.temporary.bytes;
    row.short_lived.blocks += site.short_lived.blocks;
    row.short_lived.bytes += site.short_lived.bytes;
    row.longest_s = std::max(row.longest_s, longest[i]);
    ++row.sites;
  }
  std::vector<HeapFunctionRow> sorted;
  for (auto& row : rows) sorted.push_back(std::move(row.second));
  std::sort(sorted.begin(), sorted.end(), [](const HeapFunctionRow& a, const HeapFunctionRow& b) {
    return std::tuple(-a.live.bytes.value, -a.peak.bytes.value, -a.allocated.bytes.value,
                      std::tie(a.name, a.module)) < std::tuple(-b.live.bytes.value, -b.peak.bytes.value,
                                                               -b.allocated.bytes.value,
                                                               std::tie(b.name, b.module));
  });
  return sorted;
}

std::vector<HeapAllocatorRow> allocators_of(const Profile& profile, const HeapSums& sums) {
  const HeapTables& heap = profile.heap;
  std::vector<HeapAllocatorRow> rows(heap.allocators.size());
  std::vector<char> used(heap.allocators.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].label = i == 0 ? "(unknown allocator)" : std::string(profile.strings[heap.allocators[i].label]);
    rows[i].module = profile.strings[profile.modules[heap.allocators[i].module.value].name];
  }
  for (std::uint32_t i = 0; i < heap.sites.size(); ++i) {
    const std::uint32_t allocator = heap.sites[i].allocator.value;
    rows[allocator].allocated.add(sums.sites()[i].allocated);
    rows[allocator].live.add(sums.sites()[i].live);
    if (sums.sites()[i].allocated.blocks.value != 0) used[allocator] = 1;
  }
  for (const HeapHook& hook : heap.hooks) {
    HeapAllocatorRow& row = rows[hook.allocator.value];
    used[hook.allocator.value] = 1;
    std::string name(profile.strings[hook.function]);
    if (const std::string_view note = profile.strings[hook.note]; !note.empty())
      name += fmt::format(" ({})", note);
    (hook.kind == HookKind::kSlot    ? row.by_slot
     : hook.kind == HookKind::kEntry ? row.by_entry
     : hook.kind == HookKind::kProbe ? row.by_probe
                                     : row.missed)
        .push_back(std::move(name));
  }
  std::vector<HeapAllocatorRow> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (used[i] != 0) kept.push_back(std::move(rows[i]));
  stable_sort_rows(kept.begin(), kept.end(), [](const HeapAllocatorRow& a, const HeapAllocatorRow& b) {
    return a.allocated.bytes.value > b.allocated.bytes.value;
  });
  return kept;
}

std::vector<HeapSliceRow> slices_of(const Profile& profile, const Selection& selection) {
  const Filter filter(profile, selection);
  std::vector<HeapSliceRow> rows(profile.heap.slices.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const HeapSlice& slice = profile.heap.slices[i];
    rows[i].from_s = seconds_into(profile, slice.start_ns);
    rows[i].to_s = seconds_into(profile, slice.end_ns);
    rows[i].live_bytes = slice.live_bytes;
    rows[i].live_blocks = slice.live_blocks;
    rows[i].peak_bytes = slice.peak_bytes;
  }
  for (const HeapRow& row : profile.heap.all_rows()) {
    rows[row.slice.value].allocated_bytes += row.allocated.bytes;
    rows[row.slice.value].allocations += row.allocated.blocks;
    rows[row.slice.value].freed_bytes += row.freed.bytes;
  }
  std::vector<HeapSliceRow> inside;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const HeapSlice& slice = profile.heap.slices[i];
    if (takes_slice(filter, profile, slice)) inside.push_back(rows[i]);
  }
  return inside;
}

std::vector<HeapBucketRow> histogram_of(const Profile& profile, const HeapSums& sums,
                                        HeapHistogramKind kind) {
  std::map<std::uint8_t, HeapSum> buckets;
  for (const HeapHistogram& row : profile.heap.histograms) {
    if (row.kind != kind || !sums.takes(row.site)) continue;
    buckets[row.bucket].blocks += row.sum.blocks;
    buckets[row.bucket].bytes += row.sum.bytes;
  }
  std::vector<HeapBucketRow> rows;
  for (const auto& [bucket, sum] : buckets) {
    const double from = bucket == 0 ? 0 : std::ldexp(1.0, bucket - 1);
    rows.push_back({kind == HeapHistogramKind::kSize ? from : from * 1e-9, sum});
  }
  return rows;
}

Heap counters_of(const Profile& profile, const Selection& selection) {
  Heap all;
  for (const Heap& heap : profile.heap.heaps) {
    if (selection.pid && profile.processes[heap.process.value].pid != *selection.pid) continue;
    for (const auto field :
         {&Heap::earlier_frees, &Heap::earlier_rss_bytes, &Heap::events, &Heap::lost_ring_full,
          &Heap::lost_no_ring, &Heap::lost_throwing, &Heap::lost_set_full, &Heap::lost_damaged, &Heap::nested,
          &Heap::unwalked, &Heap::incomplete, &Heap::unseen_frees, &Heap::waited_ns, &Heap::merged_sites})
      all.*field += heap.*field;
    all.switched_off = all.switched_off || heap.switched_off;
  }
  return all;
}

void judge(HeapReport& report) {
  const Heap& counters = report.counters;
  const double events = static_cast<double>(counters.events);
  const auto find = [&](HeapFindingKind kind, double number = 0,
                        const HeapAllocatorRow* allocator = nullptr) {
    report.findings.push_back({kind, number, allocator != nullptr ? allocator->label : "",
                               allocator != nullptr ? allocator->missed : std::vector<std::string>{}});
  };
  if (report.losses.has_lost_events()) find(HeapFindingKind::kLostEvents);
  if (report.losses.has_outages()) find(HeapFindingKind::kOutages);
  if (counters.merged_sites != 0)
    find(HeapFindingKind::kMergedSites, static_cast<double>(counters.merged_sites));
  if (static_cast<double>(counters.unwalked) > 0.01 * events)
    find(HeapFindingKind::kWithoutStack, events > 0 ? static_cast<double>(counters.unwalked) / events : 0);
  if (static_cast<double>(counters.unseen_frees) > 0.001 * events)
    find(HeapFindingKind::kUnseenFrees, static_cast<double>(counters.unseen_frees));
  for (const HeapAllocatorRow& row : report.allocators)
    if (!row.missed.empty() && !row.is_unseen()) find(HeapFindingKind::kNotHooked, 0, &row);
}

}  // namespace

std::optional<HeapReport> make_heap_report(const Profile& profile, const Selection& selection) {
  if (profile.heap.empty()) return std::nullopt;
  const HeapSums sums(profile, selection);
  HeapReport report;
  report.from_start = true;
  // A heap without activity does not affect the confidence of the rest. If no heap had any, all of them say
  // how they were recorded; sites may be known without any block.
  std::vector<char> used(profile.heap.heaps.size(), profile.heap.all_rows().empty() ? 1 : 0);
  for (const HeapRow& row : profile.heap.all_rows()) used[profile.heap.sites[row.site.value].heap.value] = 1;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Heap& heap = profile.heap.heaps[i];
    report.from_start = report.from_start && heap.from_start;
    if (used[i] == 0) continue;
    (heap.mode == HeapMode::kExact ? report.exact : report.sampled) = true;
    report.mean_bytes = std::max(report.mean_bytes, heap.mean_bytes);
  }
  const auto imported = facts_of<ImportFacts>(profile.meta);
  report.of_dump = !imported.heap_source.empty();
  const auto& hooks = profile.heap.hooks;
  report.by_probes = !hooks.empty() && std::ranges::all_of(hooks, [](const HeapHook& hook) {
    return hook.kind == HookKind::kProbe;
  });
  report.of_dumps = imported.heap_source == "dumps";
  report.allocated_known = !imported.no_allocated;
  report.live_known = !imported.no_live;
  report.blocks_known = !imported.no_block_counts;
  report.steps = imported.steps;
  report.temporary_is_short_lived = report.sampled;
  report.window_s = sums.window_s();
  report.total = sums.total();
  report.peak = sums.peak().total;
  report.peak_at_s = seconds_into(profile, sums.peak().time_ns);
  report.peak_exact = sums.peak().exact;
  report.peak_to_slice_end = sums.peak().to_slice_end;
  report.losses = heap_losses(profile, selection.pid);
  report.dropped = heap_dropped(profile, selection.pid);
  report.traced = traced_allocators(profile);
  report.unseen = unseen_allocators(profile);
  if (!report.unseen.empty())
    if (const auto memory = make_rss_breakdown(profile, selection))
      report.unseen_at_most = memory->unseen_at_most;
  report.functions = functions_of(profile, selection, sums);
  report.allocators = allocators_of(profile, sums);
  report.slices = slices_of(profile, selection);
  report.blocks = heap_blocks(profile, selection);
  report.sizes = histogram_of(profile, sums, HeapHistogramKind::kSize);
  report.lifetimes_s = histogram_of(profile, sums, HeapHistogramKind::kLifetime);
  report.ages_s = histogram_of(profile, sums, HeapHistogramKind::kAge);
  report.returns = heap_returns(profile, selection, sums);
  report.counters = counters_of(profile, selection);
  report.block_choice = imported.block_choice;
  report.chosen_by_fate = imported.block_choice_by == "fate";
  // Verdicts are about what happens over time, and one dump is one moment.
  if ((!report.of_dump || report.of_dumps) && !report.chosen_by_fate)
    report.verdicts = judge_heap(profile, selection, sums);
  for (const HeapRow& row : profile.heap.all_rows()) report.freed_blocks += row.freed.blocks;
  judge(report);
  if (report.of_dump) return report;
  if (UntracedProcesses untraced = untraced_processes(profile, selection); !untraced.empty())
    report.findings.push_back(
        {HeapFindingKind::kNotTraced, static_cast<double>(untraced.count), "", std::move(untraced.names)});
  return report;
}

}  // namespace fathom::analysis
