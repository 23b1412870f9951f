// The spans of a recording, by kind: intervals of one span are joined, and phases between marks are spans as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

// Part of a span on one thread.
struct SpanPart {
  std::uint64_t from_ns = 0, to_ns = 0;
  model::ThreadId thread = model::kNoThread;
};

struct WholeSpan {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::vector<SpanPart>
      parts;  // one, or several of a span that was entered several times; in the order of time
  // All parts have a thread, and lie inside the recording: what the span did is known.
  bool is_seen = false;
  std::uint64_t length_ns() const { return end_ns - start_ns; }
};

struct SpansOfKind {
  std::string name;
  model::SpanSource source = model::SpanSource::kUnknown;
  std::vector<WholeSpan> spans;  // by start
  std::uint64_t cut = 0;         // began before the recording, or ended after it; not among `spans`
  std::uint64_t outside_selection = 0;
};

// Most time first. A span is in the selection if it starts in its window, on one of its threads.
std::vector<SpansOfKind> find_spans(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
