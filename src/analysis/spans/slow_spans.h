// What the slowest spans of a kind did that the fast ones did not: the slowest 5 % against the faster half, row by row. The slowest
// are always slower, so a difference alone is no finding. It is one if the slowest take much longer than usual, if the row differs by
// more than chance (Welch's test of the spans, at the level of Holm's procedure for all rows), and if it makes up a good part of the
// difference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/spans/span_places.h"

namespace fathom::analysis {

// Nanoseconds or shares by row of SpanPlaces.
using RowValues = std::vector<std::pair<std::uint32_t, double>>;

// Time of one span by row. The rows and the running time without a sample add up to its length.
struct SpanRows {
  std::uint64_t length_ns = 0;
  RowValues ns;
  RowValues sampled_ns;     // running rows by their samples alone; empty if a sample's length is unknown
  double unsampled_ns = 0;  // it ran, and no sample says in which function
};

// What the thread that a slow span waited for did in this time.
struct SlowDetail {
  std::string thread;
  SpanPlace place;
  double mean_ns = 0;  // of the slow spans
};

struct SlowCause {
  std::uint32_t row = 0;
  SpanPlace place;
  double slow_ns = 0, fast_ns = 0;  // means of a span
  double error_ns = 0;              // half of the interval of the difference
  bool is_certain = false;
  std::string holder_thread, holder_site, holder_line;
  std::vector<SlowDetail> behind;  // most first; of waits for another thread
  double more_ns() const { return slow_ns - fast_ns; }
};

struct SlowSpans {
  std::uint64_t count = 0, fast_count = 0;
  std::uint64_t least_ns = 0;  // the shortest of the slow
  double slow_mean_ns = 0, fast_mean_ns = 0;
  std::vector<std::size_t> members;  // places of the slow spans in the input
  std::vector<SlowCause> causes;     // largest difference first
  // The first cause is a finding.
  bool is_claimed() const { return !causes.empty() && causes.front().is_certain; }
};

inline constexpr double kSlowShare = 0.05;
inline constexpr std::size_t kLeastSpans = 20;  // with fewer there is nothing to compare

// `spans`: at least kLeastSpans. `usual`: shares of the running time of all spans, which divide that without a sample. The holder
// and what is behind a cause are left empty.
SlowSpans compare_slow(const std::vector<SpanRows>& spans, const RowValues& usual, const SpanPlaces& places);

}  // namespace fathom::analysis
