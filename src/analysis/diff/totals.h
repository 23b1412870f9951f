// Totals of both sides: the first lines of a comparison. Clocks and counters measure them if possible, so
// they are certain, while shares of functions are sampled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"

namespace fathom::analysis {

enum class TotalKind : std::uint8_t {
  kCpu,          // ns, or cores
  kWall,         // ns, per whole run or per unit of work
  kCalls,        // of one counted function
  kWaits,        // for one cause: their number, not their length
  kQueue,        // ns that threads could run but had no CPU: caused by other programs, so it is not judged
  kAllocations,  // calls that allocate
  kAllocated,    // bytes
  kHeapPeak,     // bytes
  kPeakRss,      // bytes, the highest reading
  kSpanMedian,   // ns, of one kind of span (analysis/spans/span_totals.h)
  kSpanP95,      // ns, likewise
};

// The factor from base to new, with a 95 % interval. None if a side has nothing.
struct Ratio {
  double value = 1, low = 1, high = 1;
};

struct Total {
  TotalKind kind = TotalKind::kCpu;
  std::string name;  // for kCalls, kWaits and spans
  Change change;
  std::optional<Ratio> ratio;
  Normalization per = Normalization::kAbsolute;
  DiffUnit unit = DiffUnit::kNs;
  bool sampled = false;  // an estimate: no counter measured it
};

// In the order of the enum. `reports`: for the same runs; their wholes are the totals of CPU time and of the
// heap.
std::vector<Total> make_totals(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                               const std::vector<DiffReport>& reports);

// From the relative errors of both sides, as logarithms, because a factor cannot be below 0.
std::optional<Ratio> ratio_of(const Change& change);

}  // namespace fathom::analysis
