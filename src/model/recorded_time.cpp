#include "model/recorded_time.h"

#include <algorithm>
#include <charconv>

namespace fathom::model {

std::uint64_t unrecorded_ns(const Meta& meta) {
  const auto found = meta.facts.find(kUnrecordedFact);
  if (found == meta.facts.end() || meta.end_ns <= meta.start_ns) return 0;
  const std::string& text = found->second;
  std::uint64_t gap = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gap);
  if (error != std::errc{} || end != text.data() + text.size()) return 0;
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
