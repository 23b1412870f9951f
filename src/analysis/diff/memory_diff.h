// What the resident memory of both sides consists of, class by class, each at the end of what is compared of it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/diff/diff.h"

namespace fathom::analysis {

// How far the memory of two equal runs lies apart, where each side has but one.
inline constexpr double kRunToRunOfMemory = 0.05;

struct MemoryDiffPart {
  std::string_view key;  // RssBreakdown's: "live", "slack", "thread-stacks" ...
  bool anonymous = false;
  Change bytes;
};

struct MemoryDiff {
  Change rss;
  std::vector<MemoryDiffPart> parts;  // by |change|; they add up to rss
  bool traced = false;                // the heap was, on both sides
  double own_spread = 0;              // that is assumed of a single run
  std::size_t looked_at = 0;
};

// nullopt where a run knows nothing of what its memory consists of.
std::optional<MemoryDiff> make_memory_diff(const std::vector<DiffRun>& base,
                                           const std::vector<DiffRun>& fresh);

}  // namespace fathom::analysis
