// What each traced heap held over time, by group: the straight lines that the timeline adds up.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/heap/heap_timeline.h"

namespace fathom::analysis {

// What is known about one heap at one moment; between two of them all is a straight line.
struct HeapMoment {
  std::uint64_t time_ns = 0;
  std::vector<double> groups;
  double variance = 0;
  double most_since = 0;    // between the moment before and this one, never more was live
  bool composition = true;  // exact; false: a straight line, and the rest is passing
};

struct HeapCurves {
  std::vector<std::uint32_t> heaps;             // that are selected
  std::vector<std::vector<HeapMoment>> curves;  // of each of them, in order of time; empty: nothing inside
  std::vector<TimelineGroup> groups;            // names; their numbers are not filled in
  bool sampled = false;
};

// `profile` has passed check().
HeapCurves make_heap_curves(const model::Profile& profile, const TimelineOptions& options);

double total_of(const std::vector<double>& groups);
// On the line from `a` to `b`, at `part` (0 to 1) of its time.
HeapMoment between(const HeapMoment& a, const HeapMoment& b, double part);

}  // namespace fathom::analysis
