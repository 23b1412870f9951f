#include "present/exports/pprof_kind.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/core/words.h"

namespace fathom::present {
namespace {

using analysis::HeapAmounts;
using analysis::HeapSums;
using model::Metric;

HeapAmounts amounts_of(const model::HeapSum& sum) {
  return {{sum.blocks, 0}, {sum.bytes, 0}};
}

constexpr PprofHeapColumn kAllocated{
    "alloc", [](const HeapSums& sums, model::HeapSiteId site) { return sums.sites()[site.value].allocated; }};
constexpr PprofHeapColumn kLive{
    "inuse", [](const HeapSums& sums, model::HeapSiteId site) { return sums.sites()[site.value].live; }};
constexpr PprofHeapColumn kPeak{
    "peak", [](const HeapSums& sums, model::HeapSiteId site) { return sums.peak().sites[site.value]; }};
constexpr PprofHeapColumn kGrown{
    "growth", [](const HeapSums& sums, model::HeapSiteId site) { return sums.sites()[site.value].growth; }};
constexpr PprofHeapColumn kLeaked{
    "leaked", [](const HeapSums& sums, model::HeapSiteId site) { return sums.sites()[site.value].leaked; }};
constexpr PprofHeapColumn kTemporary{"temporary", [](const HeapSums& sums, model::HeapSiteId site) {
                                       return amounts_of(sums.sites()[site.value].temporary);
                                     }};
constexpr PprofHeapColumn kShortLived{"short_lived", [](const HeapSums& sums, model::HeapSiteId site) {
                                        return amounts_of(sums.sites()[site.value].short_lived);
                                      }};

bool is_flow(Metric metric) {
  return metric == Metric::kHeapAllocated || metric == Metric::kHeapAllocations;
}

// A name that servers take as a part of a type.
std::string type_name(std::string_view unit) {
  std::string name = analysis::printable(unit);
  std::ranges::replace(name, '-', '_');
  return name;
}

// One type, which is the period's as well.
PprofKind of_one_type(std::string name, std::string unit, std::int64_t period) {
  PprofType type{std::move(name), std::move(unit)};
  return {.types = {type}, .opens = type.name, .period_type = type, .period = period};
}

PprofKind samples_and_cpu(std::int64_t period) {
  const PprofType cpu{"cpu", "nanoseconds"};
  return {.types = {{"samples", "count"}, cpu}, .opens = cpu.name, .period_type = cpu, .period = period};
}

PprofKind contentions() {
  const PprofType count{"contentions", "count"};
  return {.types = {count, {"delay", "nanoseconds"}}, .opens = "delay", .period_type = count, .period = 1};
}

}  // namespace

PprofKind pprof_kind_of_time(const model::Profile& profile, const PprofOptions& options) {
  const std::string unit = analysis::unit_of(profile, options.selection);
  const std::uint32_t rate = profile.meta.frequency_hz;
  const std::int64_t period = rate == 0 ? 0 : std::llround(1e9 / rate);
  if (options.selection.metric == Metric::kOffCpu)
    return options.as_go ? contentions() : of_one_type("off_cpu", "nanoseconds", 0);
  if (options.selection.metric == Metric::kWall) return of_one_type("wall", "nanoseconds", period);
  if (unit == "ns") return samples_and_cpu(0);
  // Cycles, page faults, what another tool's file counts.
  if (unit != "samples") return of_one_type(type_name(unit), "count", 0);
  return period == 0 ? of_one_type("samples", "count", 0) : samples_and_cpu(period);
}

std::vector<PprofHeapColumn> pprof_heap_columns(const model::Profile& profile, const PprofOptions& options) {
  const analysis::Selection& selection = options.selection;
  switch (selection.metric) {
    case Metric::kHeapLeaked:
      return {kLeaked};
    case Metric::kHeapGrowth:
      return {kGrown};
    case Metric::kHeapTemporary:
      return {kTemporary};
    case Metric::kHeapShortLived:
      return {kShortLived};
    default:
      break;
  }
  const std::vector<Metric> known = analysis::metrics_in(profile);
  const auto has = [&](Metric metric) { return std::ranges::find(known, metric) != known.end(); };
  std::vector<PprofHeapColumn> columns;
  if (options.as_go) {
    if (has(Metric::kHeapAllocated) || profile.heap.empty()) columns.push_back(kAllocated);
    columns.push_back({kLive.name, selection.from_ns ? kGrown.amounts : kLive.amounts});
    return columns;
  }
  if (is_flow(selection.metric)) return {kAllocated};
  columns.push_back(kLive);
  if (has(Metric::kHeapPeak)) columns.push_back(kPeak);
  return columns;
}

PprofKind pprof_kind_of_heap(const model::Profile& profile, const PprofOptions& options,
                             std::span<const PprofHeapColumn> columns) {
  const analysis::Selection& selection = options.selection;
  const Metric metric = selection.metric;
  PprofKind kind;
  for (const PprofHeapColumn& column : columns) {
    kind.types.push_back({std::string(column.name) + "_objects", "count"});
    kind.types.push_back({std::string(column.name) + "_space", "bytes"});
  }
  const bool in_blocks =
      selection.heap_unit == analysis::HeapUnit::kBlocks || metric == Metric::kHeapAllocations;
  const std::string_view opens = metric == Metric::kHeapLive   ? kLive.name
                                 : metric == Metric::kHeapPeak ? kPeak.name
                                                               : columns.front().name;
  kind.opens = std::string(opens) + (in_blocks ? "_objects" : "_space");
  kind.period_type = PprofType{"space", "bytes"};
  kind.period = 1;  // every block
  constexpr std::uint64_t kMostPeriod = std::uint64_t{1} << 62;
  for (const model::Heap& heap : profile.heap.heaps)
    kind.period = std::max(kind.period, static_cast<std::int64_t>(std::min(heap.mean_bytes, kMostPeriod)));
  kind.moment = options.as_go ? !selection.from_ns
                              : metric == Metric::kHeapLive || metric == Metric::kHeapPeak ||
                                    metric == Metric::kHeapLeaked;
  return kind;
}

}  // namespace fathom::present
