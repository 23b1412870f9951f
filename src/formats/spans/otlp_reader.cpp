// OpenTelemetry's traces in JSON (OTLP): resourceSpans, scopeSpans, spans, with times in nanoseconds since 1970. A span belongs
// to a request and not to a thread, unless it names one in the attribute thread.id.
#include <algorithm>

#include "formats/json/json.h"
#include "formats/spans/name_rows.h"
#include "formats/spans/span_file.h"
#include "formats/spans/trace_numbers.h"

namespace fathom::formats {
namespace {

std::int32_t otlp_attribute(const Json& holder, std::string_view key) {
  const Json& attributes = member(holder, "attributes");
  if (!attributes.is_array()) return 0;
  for (const Json& attribute : attributes) {
    if (text_of(member(attribute, "key")) != key) continue;
    const std::uint64_t value = whole_number(member(member(attribute, "value"), "intValue"));
    return value < 2'000'000'000 ? static_cast<std::int32_t>(value) : 0;
  }
  return 0;
}

}  // namespace

bool is_otlp_json(std::string_view text) {
  return is_json_with(text, "resourceSpans");
}

Result<SpanFile> read_otlp_traces(std::string_view text, const std::string& path) {
  SpanFile file;
  file.path = path;
  file.source = model::SpanSource::kOtlp;
  file.clock = SpanClock::kUnix;
  NameRows names(file.names);
  const auto each = [](const Json& holder, const char* key, const auto& take) {
    const Json& rows = member(holder, key);
    if (!rows.is_array()) return;
    for (const Json& row : rows) take(row);
  };
  const auto take = [&](const Json& request) {
    each(request, "resourceSpans", [&](const Json& resource) {
      const std::int32_t pid = otlp_attribute(member(resource, "resource"), "process.pid");
      each(resource, "scopeSpans", [&](const Json& scope) {
        each(scope, "spans", [&](const Json& span) {
          FileSpan row;
          row.start_ns = whole_number(member(span, "startTimeUnixNano"));
          row.end_ns = whole_number(member(span, "endTimeUnixNano"));
          row.pid = pid;
          row.tid = otlp_attribute(span, "thread.id");
          row.id = hexadecimal_id(member(span, "spanId"));
          row.parent = hexadecimal_id(member(span, "parentSpanId"));
          row.async = row.tid == 0;
          if (row.start_ns == 0 || row.end_ns < row.start_ns || file.spans.size() == kMostSpans) {
            ++file.left_out;
            return;
          }
          row.name = names.row(text_of(member(span, "name")));
          file.spans.push_back(row);
        });
      });
    });
  };
  const Result<Json> whole = parse_json(text, path);
  if (whole) {
    take(*whole);
    return file;
  }
  if (whole.error().kind != ErrorKind::kMalformed) return tl::unexpected(whole.error());
  // The collector writes one object a line. The last line may be cut.
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Result<Json> request = is_otlp_json(line) ? parse_json(line, path) : whole;
    if (!request) {
      if (text.empty())
        file.is_cut = true;
      else
        ++file.left_out;
      continue;
    }
    any = true;
    take(*request);
  }
  if (!any) return tl::unexpected(whole.error());
  return file;
}

}  // namespace fathom::formats
