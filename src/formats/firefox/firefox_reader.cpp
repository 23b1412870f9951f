#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/parse.h"
#include "formats/firefox/firefox.h"
#include "formats/import/import.h"
#include "formats/json/json.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

class Reader {
 public:
  Reader(const Json& json, const std::string& name) : json_(json), name_(name) {}

  Result<model::Profile> read() {
    const Json& threads = member(json_, "threads");
    if (length_of(threads) == 0) return wrong("no threads in it");
    read_meta();
    for (const Json& thread : threads) {
      if (const Result<> tables = read_tables(thread); !tables) return tl::unexpected(tables.error());
      if (const Result<> samples = read_samples(thread); !samples) return tl::unexpected(samples.error());
    }
    if (in_ns_ && in_samples_) return wrong("threads that count samples next to threads that count time");
    if (in_ns_) {
      model::put_facts(model::ImportFacts{.unit = "ns"}, import_.profile.meta);
      import_.profile.meta.frequency_hz = 0;
    }
    if (nameless_ != 0)
      import_.note(fmt::format("{} places of the file are addresses without a name: it was not symbolicated.",
                               nameless_));
    if (bytes_ != 0) import_.note(fmt::format("{} threads that count bytes are left out.", bytes_));
    if (lost_spans_ != 0)
      import_.note(fmt::format("{} markers without a start or an end are left out.", lost_spans_));
    if (others_) import_.note("The file has counters or allocations, which are left out.");
    import_.profile.meta.end_ns = std::max(import_.profile.meta.start_ns, end_ns_);
    return import_.finish(name_);
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::kMalformed, fmt::format("{}: a profile of the Firefox Profiler: {}", name_, what));
  }

  void read_meta() {
    const Json& file = member(json_, "meta");
    model::Meta& meta = import_.profile.meta;
    meta.start_ns = kImportStart;
    const double interval_ms = number_of(member(file, "interval"));
    if (interval_ms > 0 && 1e3 / interval_ms < 1e6)
      meta.frequency_hz = static_cast<std::uint32_t>(std::lround(1e3 / interval_ms));
    const double start_ms = number_of(member(file, "startTime"));
    if (start_ms > 0 && start_ms < 1e13) meta.start_unix_ns = static_cast<std::uint64_t>(start_ms * 1e6);
    others_ = length_of(member(json_, "counters")) != 0;
  }

  // From version 56 on more and more of a thread's tables are shared by all threads: each is where it is.
  const Json& table(const Json& thread, const char* name) const {
    const Json& shared = member(member(json_, "shared"), name);
    return shared.is_null() ? member(thread, name) : shared;
  }

  // What is shared by all threads is read once.
  Result<> read_tables(const Json& thread) {
    const bool is_shared = member(member(json_, "shared"), "stackTable").is_object();
    if (is_shared && has_shared_) return {};
    has_shared_ = is_shared;
    const Json& strings =
        table(thread, "stringArray").is_array() ? table(thread, "stringArray") : table(thread, "stringTable");
    const auto string = [&](const Json& row) {
      const std::uint64_t at = row_of(row);
      return at == UINT64_MAX ? std::string() : text_of(element(strings, static_cast<std::size_t>(at)));
    };
    const auto at = [](const Json& table, const char* column, std::uint64_t row) -> const Json& {
      return element(member(table, column), static_cast<std::size_t>(row));
    };
    const Json &functions = table(thread, "funcTable"), &frames = table(thread, "frameTable");
    const Json &resources = table(thread, "resourceTable"), &sources = table(thread, "sources");
    std::vector<model::FrameId> frame_ids;
    for (std::size_t i = 0; i < length_of(member(frames, "func")); ++i) {
      const std::uint64_t function = row_of(at(frames, "func", i));
      const std::uint64_t resource = row_of(at(functions, "resource", function));
      const std::uint64_t source = row_of(at(functions, "source", function));
      const std::string file = source == UINT64_MAX ? string(at(functions, "fileName", function))
                                                    : string(at(sources, "filename", source));
      const Json* library = nullptr;
      std::string module;
      if (resource != UINT64_MAX) {
        const std::uint64_t lib = row_of(at(resources, "lib", resource));
        const Json& libs = member(json_, "libs").is_array() ? member(json_, "libs") : member(thread, "libs");
        library = &element(libs, static_cast<std::size_t>(lib));
        module = text_of(member(*library, "path"));
        if (module.empty()) module = string(at(resources, "name", resource));
      }
      const std::string name = string(at(functions, "name", function));
      // What has no name yet is called after its address.
      if (const auto address = address_in(name)) {
        const std::uint64_t in_library = row_of(at(frames, "address", i));
        frame_ids.push_back(nameless(module, library, in_library == UINT64_MAX ? *address : in_library));
        continue;
      }
      frame_ids.push_back(import_.frame(import_.module(module), name, file, line_of(at(frames, "line", i))));
    }
    return read_stacks(table(thread, "stackTable"), frame_ids);
  }

  // "0x104c7"
  static std::optional<std::uint64_t> address_in(std::string_view name) {
    if (!name.starts_with("0x")) return std::nullopt;
    return parse_number(name.substr(2), 16);
  }

  // Addresses are from the beginning of the library on, and its build id says which file has their names.
  model::FrameId nameless(const std::string& module, const Json* library, std::uint64_t address) {
    ++nameless_;
    std::string build_id = library == nullptr ? "" : text_of(member(*library, "codeId"));
    std::ranges::transform(build_id, build_id.begin(), [](unsigned char c) { return std::tolower(c); });
    if (build_id.find_first_not_of("0123456789abcdef") != std::string::npos) build_id.clear();
    return import_.builder.frame(import_.module(module, build_id, model::SymbolSource::kNone), {address});
  }

  // Parents stand before their children, or the table is none.
  Result<> read_stacks(const Json& stacks, const std::vector<model::FrameId>& frame_ids) {
    const bool by_distance = member(stacks, "prefixOffset").is_array();
    stacks_.clear();
    for (std::size_t i = 0; i < length_of(member(stacks, "frame")); ++i) {
      const std::uint64_t frame = row_of(element(member(stacks, "frame"), i));
      std::uint64_t parent = row_of(element(member(stacks, by_distance ? "prefixOffset" : "prefix"), i));
      if (by_distance) parent = parent == 0 ? UINT64_MAX : i - parent;
      if (frame >= frame_ids.size() || (parent != UINT64_MAX && parent >= i))
        return wrong(fmt::format("stack {} has no such frame or parent", i));
      const model::StackId above =
          parent == UINT64_MAX ? model::StackId{0} : stacks_[static_cast<std::size_t>(parent)];
      stacks_.push_back(import_.builder.stack(above, frame_ids[static_cast<std::size_t>(frame)]));
    }
    return {};
  }

  // Numbers of threads and processes stand as text in some versions.
  static std::int32_t id_of(const Json& value) {
    if (value.is_number_integer()) {
      const double number = value.get<double>();
      return number >= 0 && number < 2e9 ? static_cast<std::int32_t>(number) : 0;
    }
    const std::string text = text_of(value);
    std::int32_t number = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), number);
    return std::max(number, 0);
  }

  Result<> read_samples(const Json& thread) {
    others_ = others_ || member(thread, "nativeAllocations").is_object();
    const Json& samples = member(thread, "samples");
    const Json &rows = member(samples, "stack"), &weights = member(samples, "weight");
    const std::string kind = text_of(member(samples, "weightType"));
    if (kind == "bytes") {
      ++bytes_;
      return {};
    }
    const bool in_ms = kind == "tracing-ms";
    // Waits are in threads of their own, next to those that count samples.
    const bool waits = in_ms && text_of(member(thread, "name")).ends_with(" (off-CPU)");
    if (!waits) (in_ms ? in_ns_ : in_samples_) = true;
    const model::ThreadId id =
        import_.thread(import_.process(id_of(member(thread, "pid")), text_of(member(thread, "processName"))),
                       id_of(member(thread, "tid")), text_of(member(thread, "name")));
    if (const Result<> markers = read_spans(thread, id); !markers) return markers;
    WholeParts parts(in_ms ? 1e6 : 1);
    const Json &times = member(samples, "time"), &deltas = member(samples, "timeDeltas");
    double now_ms = 0;
    for (std::size_t i = 0; i < length_of(rows); ++i) {
      now_ms = times.is_array() ? number_of(element(times, i)) : now_ms + number_of(element(deltas, i));
      if (!(std::fabs(now_ms) < 1e12)) return wrong("times that are not times");
      const std::uint64_t stack = row_of(rows[i]);
      if (stack == UINT64_MAX) continue;  // nothing ran
      if (stack >= stacks_.size()) return wrong(fmt::format("sample {} has no such stack", i));
      model::Sample row;
      if (!parts.add(number_of(element(weights, i), 1), row.value)) return wrong("a weight that is none");
      row.time_ns = kImportStart + static_cast<std::uint64_t>(std::llround(std::max(0.0, now_ms) * 1e6));
      row.thread = id;
      row.stack = stacks_[static_cast<std::size_t>(stack)];
      if (waits) row.metric = model::Metric::kOffCpu;
      end_ns_ = std::max(end_ns_, row.time_ns);
      if (row.value != 0) import_.profile.samples.push_back(row);
    }
    return {};
  }

  // Markers that last are spans: intervals, and a start and an end of the same name. What fathom wrote about waits is none.
  Result<> read_spans(const Json& thread, model::ThreadId id) {
    constexpr std::uint64_t kInterval = 1, kStart = 2, kEnd = 3;
    const Json& markers = member(thread, "markers");
    const Json& strings =
        table(thread, "stringArray").is_array() ? table(thread, "stringArray") : table(thread, "stringTable");
    std::map<std::string, std::vector<std::uint64_t>> open;
    const auto time = [](const Json& value) -> std::optional<std::uint64_t> {
      const double ms = number_of(value, -1);
      if (!(ms >= 0) || ms > 1e12) return std::nullopt;
      return kImportStart + static_cast<std::uint64_t>(std::llround(ms * 1e6));
    };
    for (std::size_t i = 0; i < length_of(member(markers, "name")); ++i) {
      const Json& data = element(member(markers, "data"), i);
      if (text_of(member(data, "type")) == "Wait") continue;
      const std::uint64_t row = row_of(element(member(markers, "name"), i));
      std::string name =
          row == UINT64_MAX ? std::string() : text_of(element(strings, static_cast<std::size_t>(row)));
      // The marker's own name says what it is; of markers that a program makes up, only the kind.
      if (const std::string own = text_of(member(data, "name")); !own.empty()) name = own;
      const std::uint64_t phase = row_of(element(member(markers, "phase"), i));
      const auto start = time(element(member(markers, "startTime"), i)),
                 end = time(element(member(markers, "endTime"), i));
      if (phase == kInterval && start && end && *end >= *start) {
        add_span(name, *start, *end, id);
      } else if (phase == kStart && start) {
        open[name].push_back(*start);
      } else if (auto& begun = open[name]; phase == kEnd && end && !begun.empty() && *end >= begun.back()) {
        add_span(name, begun.back(), *end, id);
        begun.pop_back();
      } else if (phase == kInterval || phase == kEnd) {
        ++lost_spans_;
      }
    }
    for (const auto& [name, begun] : open) lost_spans_ += begun.size();
    return {};
  }

  void add_span(const std::string& name, std::uint64_t start_ns, std::uint64_t end_ns,
                model::ThreadId thread) {
    model::Span& span = import_.profile.spans.emplace_back();
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    span.name = import_.builder.string(name);
    span.thread = thread;
    span.source = model::SpanSource::kFirefox;
    end_ns_ = std::max(end_ns_, end_ns);
  }

  const Json& json_;
  const std::string& name_;
  Import import_{"firefox"};
  std::vector<model::StackId> stacks_;
  std::uint64_t end_ns_ = 0, bytes_ = 0, nameless_ = 0, lost_spans_ = 0;
  bool in_ns_ = false, in_samples_ = false, others_ = false, has_shared_ = false;
};

}  // namespace

bool is_firefox(std::string_view text) {
  return is_json_with(text, "preprocessedProfileVersion");
}

Result<model::Profile> read_firefox(std::string_view text, const std::string& name) {
  const Result<Json> json = parse_json(text, name);
  if (!json) return tl::unexpected(json.error());
  return Reader(*json, name).read();
}

}  // namespace fathom::formats
