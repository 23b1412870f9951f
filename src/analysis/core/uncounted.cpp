#include "analysis/core/uncounted.h"

#include "model/facts.h"

namespace fathom::analysis {

std::optional<Uncounted> uncounted(const model::Profile& profile, model::Metric metric) {
  using model::Metric;
  const auto facts = model::facts_of<model::ImportFacts>(profile.meta);
  // Dumps, of one moment or of several, have no lifetimes either.
  const bool of_dumps = !facts.heap_source.empty();
  switch (metric) {
    case Metric::kHeapAllocated:
    case Metric::kHeapAllocations:
      return facts.no_allocated ? std::optional(Uncounted::kAllocations) : std::nullopt;
    case Metric::kHeapPeak:
      if (facts.heap_source == "dump") return Uncounted::kPeak;
      [[fallthrough]];
    case Metric::kHeapLive:
    case Metric::kHeapGrowth:
    case Metric::kHeapLeaked:
      return facts.no_live ? std::optional(Uncounted::kLive) : std::nullopt;
    case Metric::kHeapTemporary:
      if (!of_dumps && facts.heap_lives == "temporary only") return std::nullopt;
      [[fallthrough]];
    case Metric::kHeapShortLived:
      return of_dumps || !facts.heap_lives.empty() ? std::optional(Uncounted::kLifetimes) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace fathom::analysis
