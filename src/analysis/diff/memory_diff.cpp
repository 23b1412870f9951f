#include "analysis/diff/memory_diff.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "analysis/memory/rss_breakdown.h"

namespace fathom::analysis {
namespace {

// Parts below this share of the larger RSS are not judged: one page more is half of a part of two pages.
constexpr double kLeastShareOfRss = 0.01;

// For all runs, base runs first.
struct Values {
  bool anonymous = false;
  std::vector<std::int64_t> bytes;
};

// Without tracing, live blocks cannot be separated from the rest of the allocators' memory, and the program's
// own mappings count as unknown. If only some runs were traced, these parts are merged.
std::string_view common_part(std::string_view key, bool all_traced) {
  if (all_traced) return key;
  return key == "live" ? "slack" : key == "mapped" ? "unknown" : key;
}

}  // namespace

std::optional<MemoryDiff> make_memory_diff(const std::vector<DiffRun>& base,
                                           const std::vector<DiffRun>& fresh) {
  std::vector<const DiffRun*> runs;
  for (const auto* side : {&base, &fresh}) {
    for (const DiffRun& run : *side) runs.push_back(&run);
  }
  MemoryDiff diff;
  std::vector<RssBreakdown> breakdowns;
  for (const DiffRun* run : runs) {
    std::optional<RssBreakdown> breakdown = make_rss_breakdown(*run->profile, run->selection);
    if (!breakdown || breakdown->rss == 0) return std::nullopt;
    breakdowns.push_back(std::move(*breakdown));
  }
  diff.traced = std::ranges::all_of(breakdowns, &RssBreakdown::traced);
  std::map<std::string_view, Values> parts;
  std::vector<std::int64_t> rss(runs.size(), 0);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const MemoryPart& part : breakdowns[run].parts) {
      Values& values = parts[common_part(part.key, diff.traced)];
      values.anonymous = part.anonymous;
      values.bytes.resize(runs.size(), 0);
      const double bytes = std::clamp(part.bytes.value, 0.0, 9e15);  // a broken file may hold any number
      values.bytes[run] += std::llround(bytes);
      rss[run] += std::llround(bytes);
    }
  }
  const bool one_process =
      std::ranges::all_of(runs, [&](const DiffRun* run) { return run->profile == runs.front()->profile; });
  RunScale scale;
  scale.weight = 0;  // pages are counted, not sampled
  scale.whole_run = true;
  scale.own_spread = one_process ? 0 : kRunToRunOfMemory;
  if (runs.size() == 2) diff.own_spread = scale.own_spread;
  const std::vector<RunScale> scales(runs.size(), scale);
  const auto change_of = [&](std::span<const std::int64_t> values) {
    return change_of_runs(values, rss, scales, base.size());
  };
  diff.rss = change_of(rss);
  diff.rss.looked_at = true;
  std::vector<double> chances{diff.rss.p};
  const double floor = kLeastShareOfRss * std::max(diff.rss.base, diff.rss.fresh);
  for (const auto& [key, values] : parts) {
    MemoryDiffPart part{key, values.anonymous, change_of(values.bytes)};
    part.bytes.looked_at = std::max(part.bytes.base, part.bytes.fresh) >= floor;
    if (part.bytes.looked_at) chances.push_back(part.bytes.p);
    if (part.bytes.base != 0 || part.bytes.fresh != 0) diff.parts.push_back(part);
  }
  diff.looked_at = chances.size();
  const double level = holm_level(std::move(chances));
  judge(diff.rss, level);
  for (MemoryDiffPart& part : diff.parts) judge(part.bytes, level);
  std::ranges::sort(diff.parts, [](const MemoryDiffPart& a, const MemoryDiffPart& b) {
    return std::pair(-std::fabs(a.bytes.change), a.key) < std::pair(-std::fabs(b.bytes.change), b.key);
  });
  return diff;
}

}  // namespace fathom::analysis
