#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "formats/import/import.h"
#include "formats/json/json.h"
#include "formats/valgrind/dhat.h"
#include "formats/valgrind/frame_text.h"
#include "model/exact_count.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

constexpr double kMost = 9e15;  // beyond it a double does not hold every whole number

class Reader {
 public:
  Reader(const Json& json, const std::string& name) : json_(json), name_(name) {}

  Result<model::Profile> read() {
    const double version = number_of(member(json_, "dhatFileVersion"));
    if (version != 2)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: DHAT's file version {}, and 2 is the one that is read", name_, version));
    read_frames();
    const bool heap = member(json_, "bklt").is_boolean() && member(json_, "bklt").get<bool>();
    const std::string command = text_of(member(json_, "cmd"));
    const double pid = number_of(member(json_, "pid"));
    process_ = import_.process(pid > 0 && pid < 2e9 ? static_cast<std::int32_t>(pid) : 0,
                               command.substr(0, command.find(' ')));
    model::Meta& meta = import_.profile.meta;
    if (!command.empty()) model::put_facts(model::OriginFacts{.command = command}, meta);
    meta.start_ns = kImportStart;
    meta.end_ns = time_of("te");
    if (heap) begin_heap();
    const Json& points = member(json_, "pps");
    for (std::size_t i = 0; i < length_of(points); ++i)
      if (!(heap ? take_place(points[i]) : take_count(points[i])))
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: a file of DHAT: program point {} has no sound numbers", name_, i + 1));
    if (heap) {
      end_heap();
    } else {
      const std::string verb = text_of(member(json_, "verb"));
      const std::string unit = text_of(member(json_, "bu")).empty() ? "bytes" : text_of(member(json_, "bu"));
      model::put_facts(model::ImportFacts{.unit = unit, .counts_all = true}, meta);
      import_.note(fmt::format("The values are {} of DHAT's mode {} ({}) and no CPU time.", unit,
                               text_of(member(json_, "mode")), verb));
    }
    return import_.finish(name_);
  }

 private:
  // Of valgrind times are instructions, unless an option says otherwise: then no clock is known.
  std::uint64_t time_of(const char* key) const {
    const std::string unit = text_of(member(json_, "tu"));
    const double scale = unit == "ms" ? 1e6 : unit == "\u00b5s" || unit == "us" ? 1e3 : unit == "s" ? 1e9 : 0;
    const double ns = number_of(member(json_, key)) * scale;
    return kImportStart + (ns > 0 && ns < 1e18 ? static_cast<std::uint64_t>(ns) : 0);
  }

  void read_frames() {
    const Json& rows = member(json_, "ftbl");
    for (std::size_t i = 0; i < length_of(rows); ++i) {
      const std::string text = text_of(rows[i]);
      const FrameText frame = parse_frame_text(text);
      frames_.push_back(import_.frame(import_.module(frame.module), frame.function, frame.file, frame.line));
    }
  }

  bool stack_of(const Json& point, model::StackId& stack) {
    const Json& rows = member(point, "fs");  // innermost first
    for (std::size_t i = std::min(length_of(rows), kMostImportedFrames); i-- > 0;) {
      const std::uint64_t row = row_of(rows[i]);
      if (row >= frames_.size()) return false;
      stack = import_.builder.stack(stack, frames_[static_cast<std::size_t>(row)]);
    }
    return true;
  }

  static bool sum_of(const Json& point, const char* bytes, const char* blocks, model::HeapSum& sum) {
    sum = {number_of(member(point, blocks)), number_of(member(point, bytes))};
    return sum.blocks >= 0 && sum.bytes >= 0 && sum.blocks < kMost && sum.bytes < kMost;
  }

  void begin_heap() {
    model::Heap heap;
    heap.process = process_;
    heap.mode = model::HeapMode::kExact;
    heap.from_start = true;
    heap.start_ns = kImportStart;
    heap.end_ns = time_of("te");
    heap.peak_ns = std::min(time_of("tg"), heap.end_ns);
    import_.profile.heap.heaps.push_back(heap);
    import_.profile.heap.slices.push_back({{0}, heap.start_ns, heap.end_ns, heap.peak_ns, 0, 0, 0});
    // DHAT writes its file when the program ends.
    import_.profile.processes[process_.value].end_ns = heap.end_ns;
    model::put_facts(model::ImportFacts{.heap_lives = "not known"}, import_.profile.meta);
    import_.note("DHAT says how long blocks lived as a mean only, so short lives are not known.");
  }

  bool take_place(const Json& point) {
    model::StackId stack{0};
    model::HeapSum all, peak, end;
    if (!stack_of(point, stack) || !sum_of(point, "tb", "tbk", all) || !sum_of(point, "gb", "gbk", peak) ||
        !sum_of(point, "eb", "ebk", end) || end.bytes > all.bytes || end.blocks > all.blocks)
      return false;
    model::HeapRow row;
    row.site = import_.site({0}, stack);
    row.allocated = all;
    row.freed = {all.blocks - end.blocks, all.bytes - end.bytes};
    model::HeapTables& tables = import_.profile.heap;
    tables.rows.push_back(row);
    if (peak.blocks > 0) tables.summaries.push_back({row.site, peak, {}, 0});
    model::Heap& heap = tables.heaps[0];
    heap.peak_bytes += peak.bytes;
    heap.peak_blocks += peak.blocks;
    heap.events += static_cast<std::uint64_t>(all.blocks + row.freed.blocks);
    tables.slices[0].live_bytes += end.bytes;
    tables.slices[0].live_blocks += end.blocks;
    return true;
  }
  void end_heap() { import_.profile.heap.slices[0].peak_bytes = import_.profile.heap.heaps[0].peak_bytes; }

  bool take_count(const Json& point) {
    model::Sample row;
    model::HeapSum all;
    if (!stack_of(point, row.stack) || !sum_of(point, "tb", "tbk", all)) return false;
    row.thread = import_.thread(process_, 0, "");
    row.value = std::llround(all.bytes);
    if (row.value != 0) import_.profile.samples.push_back(row);
    return true;
  }

  const Json& json_;
  const std::string& name_;
  Import import_{"dhat"};
  model::ProcessId process_;
  std::vector<model::FrameId> frames_;
};

}  // namespace

bool is_dhat(std::string_view text) {
  return is_json_with(text, "dhatFileVersion");
}

Result<model::Profile> read_dhat(std::string_view text, const std::string& name) {
  const Result<Json> json = parse_json(text, name);
  if (!json) return tl::unexpected(json.error());
  return Reader(*json, name).read();
}

}  // namespace fathom::formats
