#include "formats/spans/span_file.h"

namespace fathom::formats {

Result<SpanFile> read_spans(std::string_view text, const std::string& path) {
  if (is_trace_json(text)) return read_trace_events(text, path);
  if (is_otlp_json(text)) return read_otlp_traces(text, path);
  if (is_jaeger_json(text)) return read_jaeger_traces(text, path);
  // A program that has not finished a span yet leaves an empty file.
  if (text.empty() || is_marker_text(text)) return read_markers(text, path);
  return fail(
      ErrorKind::kMalformed, path + ": not a file of spans that fathom can read",
      "a marker file (lines of START END NAME), trace events of Chrome, or traces of OTLP or Jaeger in JSON");
}

}  // namespace fathom::formats
