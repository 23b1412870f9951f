// Files that name pieces of work: lines of samply's marker files, trace events in JSON as Chrome, Perfetto and tracing libraries
// write them, and traces of OpenTelemetry and Jaeger. Recognized by content. They hold lengths and names; what a thread did in that time is in a recording
// (add_spans.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spans.h"

namespace fathom::formats {

// What a file's times count from.
enum class SpanClock : std::uint8_t {
  kMonotonic,  // CLOCK_MONOTONIC, as in a recording
  kUnix,       // nanoseconds since 1970
  kUnknown,    // any start: trace events do not name it
};

struct FileSpan {
  std::uint64_t start_ns = 0, end_ns = 0;  // by the file's clock; the end is not before the start
  std::uint32_t name = 0;                  // of SpanFile::names
  std::int32_t pid = 0, tid = 0;           // 0: the file does not say
  std::uint64_t id = 0, parent = 0;        // as in model::Span
  bool async = false;                      // of no thread, even if the process has only one
  bool operator==(const FileSpan&) const = default;
};

struct SpanFile {
  std::string path;  // for messages
  model::SpanSource source = model::SpanSource::kUnknown;
  SpanClock clock = SpanClock::kUnknown;
  std::vector<std::string> names;  // each once
  std::vector<FileSpan> spans;     // in the order of the file
  std::uint64_t left_out = 0;      // lines or events that could not be read, or had no end
  bool is_cut = false;             // the file ends in the middle of a line or an event
  bool operator==(const SpanFile&) const = default;
};

inline constexpr std::size_t kMostSpans = 4'000'000;  // of one file; more are left out and counted
inline constexpr std::size_t kLongestSpanName = 256;  // bytes; longer names are cut

// `path` is for messages, and for the process and thread in a name like marker-PID-TID.txt. kMalformed if the text is no such
// file; kUnsupported if it is larger than what can be read.
Result<SpanFile> read_spans(std::string_view text, const std::string& path);

// Parts of it, by format. `text` has been recognized.
bool is_marker_text(std::string_view text);
SpanFile read_markers(std::string_view text, const std::string& path);
bool is_trace_json(std::string_view text);
Result<SpanFile> read_trace_events(std::string_view text, const std::string& path);
bool is_otlp_json(std::string_view text);
Result<SpanFile> read_otlp_traces(std::string_view text, const std::string& path);
bool is_jaeger_json(std::string_view text);
Result<SpanFile> read_jaeger_traces(std::string_view text, const std::string& path);

}  // namespace fathom::formats
