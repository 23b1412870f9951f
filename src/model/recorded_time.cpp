#include "model/recorded_time.h"

#include <algorithm>

#include "model/facts.h"

namespace fathom::model {

std::uint64_t unrecorded_ns(const Meta& meta) {
  if (meta.end_ns <= meta.start_ns) return 0;
  const std::uint64_t gap = facts_of<SamplingFacts>(meta).unrecorded_ns.value_or(0);
  return std::min(gap, meta.end_ns - meta.start_ns);
}

double recorded_s(const Profile& profile) {
  const Meta& meta = profile.meta;
  if (meta.end_ns <= meta.start_ns) return 0;
  return static_cast<double>(meta.end_ns - meta.start_ns - unrecorded_ns(meta)) * 1e-9;
}

std::uint64_t gaps_between(std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals) {
  std::erase_if(intervals, [](const auto& row) { return row.second <= row.first; });
  std::ranges::sort(intervals);
  std::uint64_t gaps = 0, covered_to = intervals.empty() ? 0 : intervals.front().first;
  for (const auto& [start, end] : intervals) {
    if (start > covered_to) gaps += start - covered_to;
    covered_to = std::max(covered_to, end);
  }
  return gaps;
}

}  // namespace fathom::model
