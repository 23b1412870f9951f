// What each side used in all, from old to new: the first lines of a comparison. Clocks and counters measured it where they
// can, so it is certain where shares of functions, which are sampled, are not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"

namespace fathom::analysis {

enum class TotalKind : std::uint8_t {
  kCpu,          // ns, or cores
  kWall,         // ns, of a whole run or of a unit of work
  kCalls,        // of one function that was counted
  kWaits,        // for one cause: how often, not how long
  kQueue,        // ns that threads could run and had no CPU: other programs' doing, so it is not judged
  kAllocations,  // calls that allocate
  kAllocated,    // bytes
  kHeapPeak,     // bytes
  kPeakRss,      // bytes, the highest reading
};

// So many times as much, with a 95 % interval. None where a side has nothing.
struct Ratio {
  double value = 1, low = 1, high = 1;
};

struct Total {
  TotalKind kind = TotalKind::kCpu;
  std::string name;  // of kCalls and kWaits
  Change change;
  std::optional<Ratio> ratio;
  Normalization per = Normalization::kAbsolute;
  DiffUnit unit = DiffUnit::kNs;
  bool sampled = false;  // an estimate: no counter has it
};

// In the order of the enum. `reports`: of the same runs; their wholes are the totals of CPU time and of the heap.
std::vector<Total> make_totals(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                               const std::vector<DiffReport>& reports);

// From the errors of both sides, which are a part of each: of logarithms, as a factor has no error below 0.
std::optional<Ratio> ratio_of(const Change& change);

}  // namespace fathom::analysis
