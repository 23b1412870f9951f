// Trace events in JSON (Chrome's format): an array of events, or an object with the array "traceEvents". Taken are complete
// events (ph X), begins and ends on one thread (B, E: the innermost open one ends), and begins and ends of asynchronous spans
// (b, e and the older S, F: by category and id). Times are microseconds from a start that the file does not name.
// A program that was killed leaves the array open: what is complete is read.
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "formats/json/json.h"
#include "formats/spans/name_rows.h"
#include "formats/spans/span_file.h"

namespace fathom::formats {
namespace {

constexpr double kMostMicroseconds = 9e15;  // below 2^63 ns
constexpr std::size_t kMostOpen = 100'000;

std::int32_t trace_number(const Json& value) {
  if (value.is_string()) {
    const std::string text = text_of(value);
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
      return 0;
    return std::stoi(text);
  }
  const double number = number_of(value);
  return number > 0 && number < 2e9 ? static_cast<std::int32_t>(number) : 0;
}

class TraceReader {
 public:
  TraceReader(SpanFile& file) : file_(file), names_(file.names) {}

  void read(const Json& events) {
    for (const Json& event : events) take(event);
    for (const auto& [thread, open] : open_) file_.left_out += open.size();
    file_.left_out += async_.size();
  }

 private:
  struct Open {
    std::uint64_t at_ns = 0;
    std::uint32_t name = 0;
    std::uint64_t id = 0;
  };
  using Thread = std::pair<std::int32_t, std::int32_t>;

  void take(const Json& event) {
    const std::string phase = text_of(member(event, "ph"));
    if (phase.size() != 1 || std::string_view("XBEbeSF").find(phase) == std::string_view::npos) return;
    const double ts = number_of(member(event, "ts"), -1);
    const Thread thread{trace_number(member(event, "pid")), trace_number(member(event, "tid"))};
    if (!(ts >= 0) || ts > kMostMicroseconds || file_.spans.size() == kMostSpans) {
      ++file_.left_out;
      return;
    }
    const auto at_ns = static_cast<std::uint64_t>(std::llround(ts * 1000));
    switch (phase[0]) {
      case 'X': {
        const double length = number_of(member(event, "dur"), 0);
        if (!(length >= 0) || length > kMostMicroseconds) {
          ++file_.left_out;
          return;
        }
        add(at_ns, at_ns + static_cast<std::uint64_t>(std::llround(length * 1000)), name_of(event), thread,
            id_of(event));
        return;
      }
      case 'B':
        if (open_[thread].size() == kMostOpen) {
          ++file_.left_out;
          return;
        }
        open_[thread].push_back({at_ns, name_of(event), id_of(event)});
        return;
      case 'E': {
        auto& open = open_[thread];
        if (open.empty() || at_ns < open.back().at_ns) {
          ++file_.left_out;
          return;
        }
        add(open.back().at_ns, at_ns, open.back().name, thread, open.back().id);
        open.pop_back();
        return;
      }
      default:
        take_async(event, phase == "b" || phase == "S", at_ns, thread);
    }
  }

  // What belongs to no thread: other work runs on the thread while it is pending.
  void take_async(const Json& event, bool begins, std::uint64_t at_ns, Thread thread) {
    const std::tuple key{text_of(member(event, "cat")), id_of(event), text_of(member(event, "name"))};
    if (begins) {
      if (async_.size() == kMostOpen || !async_.try_emplace(key, Open{at_ns, name_of(event), 0}).second)
        ++file_.left_out;
      return;
    }
    const auto open = async_.find(key);
    if (open == async_.end() || at_ns < open->second.at_ns) {
      ++file_.left_out;
      return;
    }
    // Several of one id and name are one span.
    add(open->second.at_ns, at_ns, open->second.name, {thread.first, 0}, std::get<1>(key));
    file_.spans.back().async = true;
    async_.erase(open);
  }

  void add(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t name, Thread thread,
           std::uint64_t id) {
    file_.spans.push_back({start_ns, end_ns, name, thread.first, thread.second, id, 0, false});
  }

  std::uint32_t name_of(const Json& event) { return names_.row(text_of(member(event, "name"))); }

  // Any text or number that distinguishes spans; 0 for none.
  static std::uint64_t id_of(const Json& event) {
    const Json* id = &member(event, "id");
    if (id->is_null()) id = &member(member(event, "id2"), "local");
    if (id->is_null()) id = &member(member(event, "id2"), "global");
    if (id->is_null()) return 0;
    if (id->is_number_unsigned()) return id->get<std::uint64_t>();
    return std::hash<std::string>{}(id->is_string() ? id->get<std::string>() : id->dump()) | 1;
  }

  SpanFile& file_;
  NameRows names_;
  std::map<Thread, std::vector<Open>> open_;
  std::map<std::tuple<std::string, std::uint64_t, std::string>, Open> async_;
};

struct ClosedText {
  std::string text;
  bool is_cut = false;  // more than a comma followed the last complete event
};

// The text up to its last complete event, closed. Events hold objects, so a brace alone is no end of one.
ClosedText closed(std::string_view text) {
  std::string open, closers;  // the brackets that are open now, and those that were after the last event
  std::size_t end = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open.push_back(c);
    } else if (c == '}' || c == ']') {
      if (open.empty()) break;
      open.pop_back();
      if (c != '}' || open.empty() || open.size() > (open.front() == '[' ? 1 : 2)) continue;
      end = i + 1;
      closers.clear();
      for (std::size_t k = open.size(); k > 0; --k) closers.push_back(open[k - 1] == '{' ? '}' : ']');
    }
  }
  const bool is_cut = text.find_first_not_of(" \t\r\n,", end) != std::string_view::npos;
  return {std::string(text.substr(0, end)) + closers, is_cut};
}

}  // namespace

bool is_trace_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (text[first] == '{') return is_json_with(text, "traceEvents");
  if (text[first] != '[') return false;
  const std::string_view head = text.substr(first, 4096);
  return head.find("\"ph\"") != std::string_view::npos;
}

Result<SpanFile> read_trace_events(std::string_view text, const std::string& path) {
  SpanFile file;
  file.path = path;
  file.source = model::SpanSource::kChromeTrace;
  Result<Json> json = parse_json(text, path);
  if (!json && json.error().kind == ErrorKind::kMalformed) {
    // The format leaves the bracket at the end of an array to the writer's choice.
    const ClosedText whole = closed(text);
    file.is_cut = whole.is_cut;
    auto rest = parse_json(whole.text, path);
    if (!rest) return tl::unexpected(json.error());
    json = std::move(rest);
  }
  if (!json) return tl::unexpected(json.error());
  const Json& events = json->is_array() ? *json : member(*json, "traceEvents");
  if (!events.is_array())
    return fail(ErrorKind::kMalformed, path + ": trace events: \"traceEvents\" is not an array");
  TraceReader(file).read(events);
  return file;
}

}  // namespace fathom::formats
