// Jaeger's traces in JSON, as its query service and its page save them: data, spans, processes, with times in microseconds since
// 1970. Like OTLP's, a span names its thread in the tag thread.id, if at all.
#include "formats/json/json.h"
#include "formats/spans/name_rows.h"
#include "formats/spans/span_file.h"
#include "formats/spans/trace_numbers.h"

namespace fathom::formats {
namespace {

// A tag of a span or of a process that holds a number of a thread or of a process.
std::int32_t jaeger_tag(const Json& holder, std::string_view key) {
  const Json& tags = member(holder, "tags");
  for (std::size_t i = 0; i < length_of(tags); ++i) {
    const Json& tag = element(tags, i);
    if (text_of(member(tag, "key")) != key) continue;
    const std::uint64_t value = whole_number(member(tag, "value"));
    return value < 2'000'000'000 ? static_cast<std::int32_t>(value) : 0;
  }
  return 0;
}

std::uint64_t parent_of(const Json& span) {
  const Json& references = member(span, "references");
  for (std::size_t i = 0; i < length_of(references); ++i)
    if (text_of(member(element(references, i), "refType")) == "CHILD_OF")
      return hexadecimal_id(member(element(references, i), "spanID"));
  return 0;
}

}  // namespace

bool is_jaeger_json(std::string_view text) {
  return is_json_with(text, "data") && is_json_with(text, "traceID");
}

Result<SpanFile> read_jaeger_traces(std::string_view text, const std::string& path) {
  const Result<Json> whole = parse_json(text, path);
  if (!whole) return tl::unexpected(whole.error());
  SpanFile file;
  file.path = path;
  file.source = model::SpanSource::kJaeger;
  file.clock = SpanClock::kUnix;
  NameRows names(file.names);
  const Json& traces = member(*whole, "data");
  for (std::size_t i = 0; i < length_of(traces); ++i) {
    const Json& trace = element(traces, i);
    const Json& spans = member(trace, "spans");
    for (std::size_t j = 0; j < length_of(spans); ++j) {
      const Json& span = element(spans, j);
      constexpr std::uint64_t kMostUs = UINT64_MAX / 1000;
      const std::uint64_t start_us = whole_number(member(span, "startTime"));
      const std::uint64_t duration_us = whole_number(member(span, "duration"));
      if (start_us == 0 || start_us > kMostUs || duration_us > kMostUs - start_us ||
          file.spans.size() == kMostSpans) {
        ++file.left_out;
        continue;
      }
      const Json& process = member(member(trace, "processes"), text_of(member(span, "processID")).c_str());
      FileSpan row;
      row.start_ns = start_us * 1000;
      row.end_ns = (start_us + duration_us) * 1000;
      row.pid = jaeger_tag(process, "process.pid");
      if (row.pid == 0) row.pid = jaeger_tag(process, "pid");
      row.tid = jaeger_tag(span, "thread.id");
      row.id = hexadecimal_id(member(span, "spanID"));
      row.parent = parent_of(span);
      row.async = row.tid == 0;
      row.name = names.row(text_of(member(span, "operationName")));
      file.spans.push_back(row);
    }
  }
  return file;
}

}  // namespace fathom::formats
