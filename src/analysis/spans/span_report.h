// The report on spans: how long each kind took, where its time went, what its slowest spans had in common, and the critical path
// across threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "analysis/spans/slow_spans.h"
#include "analysis/spans/span_places.h"
#include "analysis/spans/span_set.h"

namespace fathom::analysis {

// A quantile with its 95 % interval from the order of the values, which holds for any distribution. Without an upper end if too few
// spans are beyond it.
struct SpanQuantile {
  double share = 0;  // 0.95
  std::uint64_t ns = 0, low_ns = 0;
  std::optional<std::uint64_t> high_ns;
};
// `lengths` ascending, not empty.
SpanQuantile span_quantile(const std::vector<std::uint64_t>& lengths, double share);

// Who ended the waits of a row for the longest time.
struct SpanHolder {
  std::string thread;      // empty: unknown
  std::string site, line;  // what it did when it ended them; empty: unknown
};

struct SpanSegment {
  SpanPlace place;
  std::string thread;       // of a row of the critical path
  double total_ns = 0;      // of all spans of the kind
  std::uint64_t spans = 0;  // with any of it; of running rows, with a sample of it
  SpanHolder holder;
};

struct SpanKindReport {
  std::string name;
  model::SpanSource source = model::SpanSource::kUnknown;
  std::uint64_t count = 0, cut = 0;
  std::uint64_t seen =
      0;                // of count: spans whose threads were recorded; segments, path and slow are of these
  double rate = 0;      // per second of the selected time
  double total_ns = 0;  // of all; the segments add up to seen_ns
  double seen_ns = 0;
  std::vector<SpanQuantile> quantiles;  // 0.5, 0.95, 0.99
  std::uint64_t max_ns = 0;
  std::vector<SpanSegment> segments;  // most time first
  std::vector<SpanSegment> path;      // most time first; adds up to seen_ns as well
  std::optional<SlowSpans> slow;      // where there are enough spans
};

struct SpanReport {
  std::vector<SpanKindReport> kinds;  // most time first
  double duration_s = 0;              // of the selected time
  bool has_waits = false;             // otherwise all of a span's time counts as running
  // Part of the waiting time of the threads with spans that was not recorded wait by wait; it counts as running.
  double unwalked_share = 0;
};

SpanReport make_span_report(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
