#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "formats/import/import.h"
#include "formats/json/json.h"
#include "formats/speedscope/speedscope.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

struct Unit {
  std::string_view name;
  double ns;  // 0: no time
};
constexpr Unit kUnits[] = {{"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6},
                           {"seconds", 1e9},   {"bytes", 0},          {"none", 0}};

class Reader {
 public:
  Reader(const Json& json, const std::string& name) : json_(json), name_(name) {}

  Result<model::Profile> read() {
    const Json& profiles = member(json_, "profiles");
    if (length_of(profiles) == 0) return wrong("no profiles in it");
    read_frames();
    import_.profile.meta.start_ns = import_.profile.meta.end_ns = kImportStart;
    const Kind kind = kind_to_read(profiles);
    if (kind == Kind::kTime) model::put_facts(model::ImportFacts{.unit = "ns"}, import_.profile.meta);
    by_fathom_ = text_of(member(json_, "exporter")) == "fathom";
    if (kind == Kind::kBytes) begin_heap();
    std::vector<std::string> left_out;
    const auto of_kind = static_cast<std::size_t>(std::count_if(
        profiles.begin(), profiles.end(), [&](const Json& profile) { return kind_of(profile) == kind; }));
    for (const Json& profile : profiles) {
      const std::string title = text_of(member(profile, "name"));
      if (kind_of(profile) != kind || (of_kind > 1 && is_sum(title))) {
        left_out.push_back(title.empty() ? "(without a name)" : title);
        continue;
      }
      thread_ = import_.thread(import_.process(0, ""), 0, title.empty() ? base_name(name_) : title);
      parts_ = WholeParts(scale_of(profile));
      metric_ = metric_of(title);
      const Result<> read =
          text_of(member(profile, "type")) == "evented" ? read_events(profile) : read_samples(profile);
      if (!read) return tl::unexpected(read.error());
    }
    if (!left_out.empty())
      import_.note(
          fmt::format("The file has more profiles, which are left out: {}.", fmt::join(left_out, ", ")));
    if (kind == Kind::kBytes) end_heap();
    return import_.finish(name_);
  }

 private:
  enum class Kind { kTime, kBytes, kCount };

  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::kMalformed, fmt::format("{}: a file of speedscope: {}", name_, what));
  }
  static const Unit* unit_of(const Json& profile) {
    const std::string unit = text_of(member(profile, "unit"));
    const auto* found = std::ranges::find(kUnits, unit, &Unit::name);
    return found == std::end(kUnits) ? nullptr : found;
  }
  static Kind kind_of(const Json& profile) {
    const Unit* unit = unit_of(profile);
    if (unit == nullptr) return Kind::kCount;
    return unit->ns != 0 ? Kind::kTime : unit->name == "bytes" ? Kind::kBytes : Kind::kCount;
  }
  static double scale_of(const Json& profile) {
    const Unit* unit = unit_of(profile);
    return unit != nullptr && unit->ns != 0 ? unit->ns : 1;
  }
  bool is_sum(std::string_view title) const {
    return title == "all threads" || title == "All threads" ||
           (by_fathom_ && title.starts_with("all threads ("));
  }
  // The format has no place for it, and fathom's own files have several in one.
  model::Metric metric_of(std::string_view title) const {
    if (by_fathom_ && title.ends_with(" (off-CPU)")) return model::Metric::kOffCpu;
    if (by_fathom_ && title.ends_with(" (wall-clock)")) return model::Metric::kWall;
    return model::Metric::kCpu;
  }

  // Of several kinds the times, else that of the first profile.
  static Kind kind_to_read(const Json& profiles) {
    for (const Json& profile : profiles)
      if (kind_of(profile) == Kind::kTime) return Kind::kTime;
    return kind_of(profiles.front());
  }

  void read_frames() {
    const Json& rows = member(member(json_, "shared"), "frames");
    const model::ModuleId module = import_.module({});
    for (std::size_t i = 0; i < length_of(rows); ++i)
      frames_.push_back(import_.frame(module, text_of(member(rows[i], "name")),
                                      text_of(member(rows[i], "file")), line_of(member(rows[i], "line"))));
  }

  Result<> add(model::StackId stack, double amount) {
    std::int64_t value = 0;
    if (amount < 0 || !parts_.add(amount, value)) return wrong("an amount that is none");
    if (!import_.profile.heap.empty()) {
      if (value == 0) return {};
      model::HeapRow row;
      row.site = import_.site({0}, stack, thread_);
      row.allocated = {1, static_cast<double>(value)};
      import_.profile.heap.rows.push_back(row);
      return {};
    }
    model::Sample row;
    row.time_ns = 0;
    row.value = value;
    row.thread = thread_;
    row.stack = stack;
    row.metric = metric_;
    if (value != 0) import_.profile.samples.push_back(row);
    return {};
  }

  Result<> read_samples(const Json& profile) {
    const Json &samples = member(profile, "samples"), &weights = member(profile, "weights");
    for (std::size_t i = 0; i < length_of(samples); ++i) {
      model::StackId stack{0};
      for (std::size_t k = 0; k < std::min(length_of(samples[i]), kMostImportedFrames); ++k) {
        const std::uint64_t frame = row_of(samples[i][k]);
        if (frame >= frames_.size()) return wrong("a sample refers to a missing frame");
        stack = import_.builder.stack(stack, frames_[static_cast<std::size_t>(frame)]);
      }
      if (const Result<> added = add(stack, number_of(element(weights, i), 1)); !added) return added;
    }
    return {};
  }

  // "O" opens a frame and "C" closes the last one; what is between two events belongs to what is open.
  Result<> read_events(const Json& profile) {
    const Json& events = member(profile, "events");
    std::vector<model::StackId> open{{0}};
    double before = number_of(member(profile, "startValue"));
    for (std::size_t i = 0; i < length_of(events); ++i) {
      const double at = number_of(member(events[i], "at"), before);
      if (at < before) return wrong(fmt::format("event {} goes back in time", i + 1));
      if (open.size() > 1)
        if (const Result<> added = add(open.back(), at - before); !added) return added;
      before = at;
      const std::uint64_t frame = row_of(member(events[i], "frame"));
      if (frame >= frames_.size()) return wrong("an event refers to a missing frame");
      if (text_of(member(events[i], "type")) == "O") {
        open.push_back(open.size() > kMostImportedFrames
                           ? open.back()
                           : import_.builder.stack(open.back(), frames_[static_cast<std::size_t>(frame)]));
      } else if (open.size() > 1) {
        open.pop_back();
      } else {
        return wrong(fmt::format("event {} closes a frame that is not open", i + 1));
      }
    }
    return {};
  }

  void begin_heap() {
    model::Heap heap;
    heap.process = import_.process(0, "");
    heap.from_start = true;
    heap.start_ns = heap.end_ns = heap.peak_ns = kImportStart;
    import_.profile.heap.heaps.push_back(heap);
    model::put_facts(model::ImportFacts{.heap_source = "dump"}, import_.profile.meta);
    model::put_facts(model::ImportFacts{.no_allocated = true}, import_.profile.meta);
    import_.note(
        "The file counts bytes but not whether they are live: each of its samples counts as one block.");
  }
  void end_heap() {
    model::HeapSlice slice{{0}, kImportStart, kImportStart, kImportStart, 0, 0, 0};
    for (const model::HeapRow& row : import_.profile.heap.rows) {
      slice.live_blocks += row.allocated.blocks;
      slice.live_bytes += row.allocated.bytes;
    }
    slice.peak_bytes = import_.profile.heap.heaps[0].peak_bytes = slice.live_bytes;
    import_.profile.heap.heaps[0].peak_blocks = slice.live_blocks;
    import_.profile.heap.slices.push_back(slice);
  }

  const Json& json_;
  const std::string& name_;
  Import import_{"speedscope"};
  std::vector<model::FrameId> frames_;
  model::ThreadId thread_;
  WholeParts parts_{1};
  model::Metric metric_ = model::Metric::kCpu;
  bool by_fathom_ = false;
};

}  // namespace

bool is_speedscope(std::string_view text) {
  return is_json_with(text, "$schema") &&
         text.substr(0, 64 * 1024).find("speedscope") != std::string_view::npos;
}

Result<model::Profile> read_speedscope(std::string_view text, const std::string& name) {
  const Result<Json> json = parse_json(text, name);
  if (!json) return tl::unexpected(json.error());
  return Reader(*json, name).read();
}

}  // namespace fathom::formats
