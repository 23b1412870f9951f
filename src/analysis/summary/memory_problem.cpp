#include "analysis/summary/memory_problem.h"

#include <algorithm>
#include <vector>

#include "analysis/summary/resident_points.h"

namespace fathom::analysis {
namespace {

const HeapVerdict* find_verdict(const Report& report, HeapVerdictKind kind) {
  if (!report.heap) return nullptr;
  const auto found = std::ranges::find_if(report.heap->verdicts, [&](const HeapVerdict& verdict) {
    return verdict.kind == kind && verdict.confidence != Confidence::kLow;
  });
  return found == report.heap->verdicts.end() ? nullptr : &*found;
}

// Bytes per second; 0 where it is not sure to grow, or hardly does.
double growth_of(const Report& report) {
  const std::optional<ResidentMemory>& resident = report.resident;
  if (!resident || resident->trend.shape != TrendShape::kGrowing) return 0;
  const Trend trend = find_kept_trend(report).value_or(resident->trend);
  if (trend.shape != TrendShape::kGrowing) return 0;
  const TrendLine& line = trend.slope;
  // Not of what was there at first: the first reading of a program that starts may find next to nothing.
  if (line.low <= 0 || trend.growth() < kMemoryThresholds.grown * resident->last) return 0;
  return line.per_s;
}

// Of what was free in allocators when the recording of a heap began, so much is free still: the blocks that were allocated since may
// lie in it, and what is not resident any more was given back. 0: not known.
double free_still(const Report& report) {
  if (!report.resident || !report.heap) return 0;
  const HeapAmount& live = report.heap->total.live.bytes;
  // Samples can miss a few mean distances of blocks.
  const double missed = report.heap->sampled ? 3 * static_cast<double>(report.heap->mean_bytes) : 0;
  const double given_back = std::max(0.0, report.resident->first - report.resident->last);
  return report.resident->free_before_bytes - live.value - live.error() - missed - given_back;
}

}  // namespace

std::optional<Trend> find_kept_trend(const Report& report) {
  if (!report.resident || report.profile == nullptr) return std::nullopt;
  const std::vector<TrendPoint> points =
      resident_points(*report.profile, report.selection, ResidentPart::kKept);
  if (points.empty()) return report.resident->trend;
  const Trend kept = find_trend(points);
  // Both are the same memory but for the files. Where it makes most of the rise, it decides nothing that chance moved one of two
  // curves that are nearly one across a threshold.
  const bool is_most = kept.growth() >= 0.5 * report.resident->trend.growth();
  return kept.shape != TrendShape::kGrowing && is_most ? report.resident->trend : kept;
}

std::optional<FirstTouch> toucher_of_growth(const Report& report) {
  if (!report.resident) return std::nullopt;
  constexpr double kExplains = 0.5;  // of the growth
  const double grown = report.resident->trend.growth();
  const auto names_grower = [&](const HeapVerdict& verdict) {
    switch (verdict.kind) {
      case HeapVerdictKind::kLeak:
      case HeapVerdictKind::kGrowsWithWork:
      case HeapVerdictKind::kSteps:
      case HeapVerdictKind::kMayLevel:
        return !verdict.function.empty() && verdict.confidence != Confidence::kLow &&
               verdict.bytes >= kExplains * grown;
      default:
        return false;
    }
  };
  const bool is_named = report.heap && std::ranges::any_of(report.heap->verdicts, names_grower);
  const auto& touch = report.resident->first_touch;
  const bool is_same =
      is_named && touch && std::ranges::any_of(report.heap->verdicts, [&](const HeapVerdict& verdict) {
        return names_grower(verdict) && verdict.function == touch->site;
      });
  return is_named && !is_same ? std::nullopt : touch;
}

MemoryProblem find_memory_problem(const Report& report) {
  const double per_s = growth_of(report);
  const std::optional<FirstTouch> first_touch = per_s > 0 ? toucher_of_growth(report) : std::nullopt;
  if (find_verdict(report, HeapVerdictKind::kLeak) != nullptr)
    return {MemoryProblemKind::kLeak, per_s, 0, first_touch};
  if (per_s > 0) return {MemoryProblemKind::kGrows, per_s, 0, first_touch};
  if (const HeapVerdict* held = find_verdict(report, HeapVerdictKind::kHeld);
      held != nullptr && report.resident && report.resident->last > 0) {
    const double share = std::min(1.0, held->bytes / report.resident->last);
    if (share >= kMemoryThresholds.held) return {MemoryProblemKind::kHeld, 0, share, {}};
  }
  if (report.resident && report.resident->last > 0) {
    const double free = std::max(report.resident->free_bytes, free_still(report));
    const double share = std::min(1.0, free / report.resident->last);
    if (share >= kMemoryThresholds.held) return {MemoryProblemKind::kHeld, 0, share, {}};
  }
  // Most of next to nothing is nothing.
  if (report.allocator_cpu && !report.activity.idle() &&
      report.allocator_cpu->interval().low >= kMemoryThresholds.churn)
    return {MemoryProblemKind::kChurn, 0, report.allocator_cpu->share(), {}};
  return {};
}

}  // namespace fathom::analysis
