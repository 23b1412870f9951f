// The composition of resident memory on both sides, class by class, each at the end of its compared time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/diff/diff.h"

namespace fathom::analysis {

// Spread of the memory of two equal runs, if each side has only one.
inline constexpr double kRunToRunOfMemory = 0.05;

struct MemoryDiffPart {
  std::string_view key;  // RssBreakdown's: "live", "slack", "thread-stacks" ...
  bool anonymous = false;
  Change bytes;
};

struct MemoryDiff {
  Change rss;
  std::vector<MemoryDiffPart> parts;  // by |change|; they add up to rss
  bool traced = false;                // the heap was traced on both sides
  double own_spread = 0;              // assumed for a single run
  std::size_t looked_at = 0;
};

// nullopt if a run does not know the composition of its memory.
std::optional<MemoryDiff> make_memory_diff(const std::vector<DiffRun>& base,
                                           const std::vector<DiffRun>& fresh);

}  // namespace fathom::analysis
