// Marker files: a line per span, "START END NAME", nanoseconds of CLOCK_MONOTONIC, written when the span ends. The program
// writes them through a buffer, so the last line may be cut. The name of the file has the process, and often the thread.
#include <charconv>
#include <optional>

#include "formats/spans/name_rows.h"
#include "formats/spans/span_file.h"

namespace fathom::formats {
namespace {

struct MarkerLine {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::string_view name;
};

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty() || text.front() != ' ') return std::nullopt;
  text.remove_prefix(1);
  return value;
}

std::optional<MarkerLine> marker_line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  const auto start = take_number(text);
  const auto end = start ? take_number(text) : std::nullopt;
  if (!end || *end < *start || text.empty()) return std::nullopt;
  return MarkerLine{*start, *end, text};
}

// The numbers of "marker-12-13.txt": 12 and 13. 0 where there is none.
std::pair<std::int32_t, std::int32_t> numbers_of(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  constexpr std::string_view kStart = "marker-";
  std::pair<std::int32_t, std::int32_t> numbers;
  if (!name.starts_with(kStart)) return numbers;
  name.remove_prefix(kStart.size());
  for (std::int32_t* number : {&numbers.first, &numbers.second}) {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc{} || value <= 0) break;
    *number = value;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (!name.starts_with('-')) break;
    name.remove_prefix(1);
  }
  return numbers;
}

}  // namespace

bool is_marker_text(std::string_view text) {
  return marker_line(text.substr(0, text.find('\n'))).has_value();
}

SpanFile read_markers(std::string_view text, const std::string& path) {
  SpanFile file;
  file.path = path;
  file.source = model::SpanSource::kMarkerFile;
  file.clock = SpanClock::kMonotonic;
  NameRows names(file.names);
  const auto [pid, tid] = numbers_of(path);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    // A number or name that was cut looks like a whole one, so a line without its end is not believed.
    if (end == std::string_view::npos) {
      file.is_cut = true;
      break;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.empty()) continue;
    const auto marker = marker_line(line);
    if (!marker || file.spans.size() == kMostSpans) {
      ++file.left_out;
      continue;
    }
    file.spans.push_back({marker->start_ns, marker->end_ns, names.row(marker->name), pid, tid, 0, 0, false});
  }
  return file;
}

}  // namespace fathom::formats
