#include "analysis/summary/heap_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "analysis/core/words.h"
#include "analysis/heap/heap_history.h"

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
  HeapLeaves leaves(profile, selection.fold_containers.value_or(true));
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
    auto name = function_that_asked(profile, leaves, profile.heap.sites[i].stack);
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
                                     : row.missed)
        .push_back(std::move(name));
  }
  std::vector<HeapAllocatorRow> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (used[i] != 0) kept.push_back(std::move(rows[i]));
  std::stable_sort(kept.begin(), kept.end(), [](const HeapAllocatorRow& a, const HeapAllocatorRow& b) {
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
  for (const HeapRow& row : profile.heap.rows) {
    rows[row.slice.value].allocated_bytes += row.allocated.bytes;
    rows[row.slice.value].allocations += row.allocated.blocks;
    rows[row.slice.value].freed_bytes += row.freed.bytes;
  }
  std::vector<HeapSliceRow> inside;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const HeapSlice& slice = profile.heap.slices[i];
    if (filter.takes_time(slice.start_ns + (slice.end_ns - slice.start_ns) / 2)) inside.push_back(rows[i]);
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

std::string blocks_of(double count) {
  return with_commas(std::llround(std::min(count, 9e15)));
}
std::string bytes_of(const HeapAmount& amount) {
  if (amount.variance <= 0) return bytes(amount.value);
  return fmt::format("{} ±{}", bytes(amount.value), bytes(amount.error()));
}
std::string share_of(double part, double whole) {
  return percent(whole > 0 ? part / whole : 0);
}

// "f in m, 45.0 %, g, 20.0 %": up to three of those that have most.
std::string top_of(const HeapReport& report, const std::function<HeapAmount(const HeapFunctionRow&)>& value) {
  std::vector<std::pair<HeapAmount, const HeapFunctionRow*>> rows;
  double whole = 0;
  for (const HeapFunctionRow& row : report.functions) {
    const HeapAmount amount = value(row);
    if (amount.value <= 0) continue;
    whole += amount.value;
    rows.push_back({amount, &row});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first.value > b.first.value; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 3); ++i) {
    const auto& [amount, row] = rows[i];
    // Less than a twentieth, or no more than its error: not worth a place in a sentence.
    if (i > 0 && amount.value < 0.05 * whole) break;
    text +=
        fmt::format("{}{}{} ({}{})", i == 0 ? "" : ", ", printable(row->name),
                    row->module.empty() ? "" : " in " + printable(row->module), share_of(amount.value, whole),
                    amount.error() > amount.value / 2 ? ", which may be chance" : "");
  }
  return text;
}

// What lost events make of the numbers of an exact heap.
std::string consequence_of(const HeapExactness& exactness) {
  if (!exactness.countable()) return "What is live, and what was freed, is not known exactly.";
  return fmt::format("So what is live may be wrong by up to {}.", counted(exactness.lost(), "block"));
}

std::string sentence_of_method(const HeapReport& report) {
  const std::string_view start = report.from_start ? " from the start of the program" : "";
  const std::string missing = report.losses.text();
  if (!report.sampled && missing.empty())
    return fmt::format("Every call of the allocators was recorded{}.", start);
  if (!report.sampled)
    return fmt::format("Calls of the allocators were recorded{}, but not every one: {}. {}", start, missing,
                       consequence_of(report.losses.exactness));
  std::string text =
      fmt::format("The heap was {}{}", report.exact ? "traced, in part by samples," : "sampled", start);
  if (report.mean_bytes != 0)
    text += fmt::format(", one byte in {}", bytes(static_cast<double>(report.mean_bytes)));
  if (missing.empty()) return text + "; ± is the 95 % interval.";
  return text + fmt::format("; ± is the 95 % interval of the sampling alone, as {}.", missing);
}

void summarize(const Profile& profile, HeapReport& report) {
  const auto add = [&](std::string sentence) { report.summary.push_back(std::move(sentence)); };
  add(sentence_of_method(report));
  const HeapSiteSums& total = report.total;
  if (total.allocated.blocks.value <= 0 && total.live.blocks.value <= 0) {
    add("Nothing was allocated in this time.");
    return;
  }
  std::string rate;
  if (report.window_s > 0)
    rate = fmt::format(": {}/s and {} calls/s", bytes(total.allocated.bytes.value / report.window_s),
                       blocks_of(total.allocated.blocks.value / report.window_s));
  add(fmt::format("It allocated {} in {} calls{}{}.", bytes_of(total.allocated.bytes),
                  blocks_of(total.allocated.blocks.value),
                  report.window_s > 0 ? " in " + seconds(report.window_s) : "", rate));
  if (const std::string top = top_of(report, [](const auto& row) { return row.allocated.bytes; });
      !top.empty())
    add("Most of that was asked for by " + top + ".");

  const double live = total.live.bytes.value;
  if (live > 0) {
    const double growth = total.growth.bytes.value;
    add(fmt::format(
        "At the end {} are live in {} blocks, {} {} than at the start of this time; most of it by {}.",
        bytes_of(total.live.bytes), blocks_of(total.live.blocks.value),
        bytes_of({std::fabs(growth), total.growth.bytes.variance}), growth < 0 ? "less" : "more",
        top_of(report, [](const auto& row) { return row.live.bytes; })));
  } else {
    add("At the end nothing of it is live.");
  }
  if (report.peak.bytes.value > 0) {
    add(fmt::format("Most was live {} after the start{}: {} in {} blocks, of which {}.",
                    seconds(std::max(0.0, report.peak_at_s)),
                    report.peak_exact          ? ""
                    : report.peak_to_slice_end ? " (to the end of a slice)"
                                               : " (as far as it was recorded)",
                    bytes_of(report.peak.bytes), blocks_of(report.peak.blocks.value),
                    top_of(report, [](const auto& row) { return row.peak.bytes; })));
  }
  const HeapSum& temporary = report.temporary_is_short_lived ? total.short_lived : total.temporary;
  if (temporary.blocks > 0 && total.allocated.blocks.value > 0) {
    add(fmt::format("{} of the calls were temporary: freed {}; most by {}.",
                    share_of(temporary.blocks, total.allocated.blocks.value),
                    report.temporary_is_short_lived ? "within 1 ms" : "before the thread allocated again",
                    top_of(report, [&](const auto& row) {
                      return HeapAmount{
                          report.temporary_is_short_lived ? row.short_lived.blocks : row.temporary.blocks, 0};
                    })));
  }
  if (!report.dropped.empty()) add(report.dropped);
  if (std::string sentence = sentence_of(report.returns); !sentence.empty()) add(std::move(sentence));
  if (!report.from_start) {
    const Heap& counters = report.counters;
    std::string text = "Blocks from before the recording are not in these numbers";
    if (counters.earlier_rss_bytes != 0)
      text += fmt::format(": {} of anonymous memory were resident then",
                          bytes(static_cast<double>(counters.earlier_rss_bytes)));
    if (counters.earlier_frees != 0) {
      const auto frees = static_cast<double>(counters.earlier_frees);
      double all = frees;
      for (const HeapRow& row : profile.heap.rows) all += row.freed.blocks;
      text += fmt::format("; {} of them have been freed since, {} of all frees", blocks_of(frees),
                          share_of(frees, all));
    }
    add(text + ".");
  }
}

void judge(HeapReport& report) {
  const Heap& counters = report.counters;
  const HeapLosses& losses = report.losses;
  const auto find = [&](std::string text) { report.findings.push_back(std::move(text)); };
  const double events = static_cast<double>(counters.events);
  if (!losses.events.empty())
    find(fmt::format("Of the heap, {}: {}.", losses.events,
                     losses.exactness.damaged_rings != 0 ? "what is live is not known exactly"
                                                         : "what is live may be wrong by as many blocks"));
  if (!losses.stretches.empty())
    find(fmt::format("Of the heap, {}: what was live before may have been freed meanwhile.",
                     losses.stretches));
  if (counters.merged_sites != 0)
    find(fmt::format("There were too many places that allocate: {} counted without theirs.",
                     counted(counters.merged_sites, "allocation is", "allocations are")));
  if (static_cast<double>(counters.unwalked) > 0.01 * events)
    find(fmt::format("{} of the events have no stack.",
                     share_of(static_cast<double>(counters.unwalked), events)));
  if (static_cast<double>(counters.unseen_frees) > 0.001 * events)
    find(fmt::format("{} frees were not seen: some function that frees was not hooked.",
                     with_commas(static_cast<std::int64_t>(counters.unseen_frees))));
  for (const HeapAllocatorRow& row : report.allocators)
    if (!row.missed.empty())
      find(fmt::format("Of {}, {} could not be hooked; blocks that pass only through {} are missing.",
                       printable(row.label), fmt::join(row.missed, ", "),
                       row.missed.size() == 1 ? "it" : "them"));
}

}  // namespace

std::optional<HeapReport> make_heap_report(const Profile& profile, const Selection& selection) {
  if (profile.heap.empty()) return std::nullopt;
  const HeapSums sums(profile, selection);
  HeapReport report;
  report.from_start = true;
  // A heap in which nothing happened says nothing about how sure the rest is.
  std::vector<char> used(profile.heap.heaps.size(), profile.heap.sites.empty() ? 1 : 0);
  for (const HeapRow& row : profile.heap.rows) used[profile.heap.sites[row.site.value].heap.value] = 1;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Heap& heap = profile.heap.heaps[i];
    report.from_start = report.from_start && heap.from_start;
    if (used[i] == 0) continue;
    (heap.mode == HeapMode::kExact ? report.exact : report.sampled) = true;
    report.mean_bytes = std::max(report.mean_bytes, heap.mean_bytes);
  }
  report.temporary_is_short_lived = report.sampled;
  report.window_s = sums.window_s();
  report.total = sums.total();
  report.peak = sums.peak().total;
  report.peak_at_s = seconds_into(profile, sums.peak().time_ns);
  report.peak_exact = sums.peak().exact;
  report.peak_to_slice_end = sums.peak().to_slice_end;
  report.losses = heap_losses(profile, selection.pid);
  report.dropped = dropped_text(profile, selection.pid);
  report.functions = functions_of(profile, selection, sums);
  report.allocators = allocators_of(profile, sums);
  report.slices = slices_of(profile, selection);
  report.blocks = heap_blocks(profile, selection);
  report.sizes = histogram_of(profile, sums, HeapHistogramKind::kSize);
  report.lifetimes_s = histogram_of(profile, sums, HeapHistogramKind::kLifetime);
  report.ages_s = histogram_of(profile, sums, HeapHistogramKind::kAge);
  report.returns = heap_returns(profile, selection, sums);
  report.counters = counters_of(profile, selection);
  report.verdicts = judge_heap(profile, selection, sums);
  judge(report);
  summarize(profile, report);
  return report;
}

}  // namespace fathom::analysis
