// Spans: pieces of work that the program, or the user, named: a request, a block, a phase. They come from markers that the
// program wrote, from traces of other tools, and from functions that fathom watched. A span lasts from its start to its end on
// one thread; what the thread did in between is in the samples and waits.
#pragma once

#include <compare>
#include <cstdint>

#include "model/ids.h"

namespace fathom::model {

// The numbers are in the file.
enum class SpanSource : std::uint8_t {
  kUnknown,
  kMarkerFile,   // lines of samply's marker files
  kChromeTrace,  // trace events in JSON
  kFunction,     // calls of a function that fathom watched (record --span)
  kMark,         // phases between marks (record --marks)
  kFirefox,      // markers of a Firefox profile
  kOtlp,         // OpenTelemetry's JSON
  kJaeger,       // Jaeger's JSON
};
inline constexpr SpanSource kLastSpanSource = SpanSource::kJaeger;

struct Span {
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;    // not before start_ns
  StringId name;               // the kind: "newPayload"
  // kNoThread: no thread, or several, or one that was not recorded. Such a span has a length, and no breakdown.
  ThreadId thread = kNoThread;
  SpanSource source = SpanSource::kUnknown;
  // Intervals with the same id, name and source are one span that was entered several times (polls of a future). 0: a span of
  // its own. The parent is the id of the span that this one belongs to; 0: unknown.
  std::uint64_t id = 0, parent = 0;
  auto operator<=>(const Span&) const = default;
};

}  // namespace fathom::model
