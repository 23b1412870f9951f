#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/parse.h"
#include "base/text.h"
#include "formats/import/import.h"
#include "formats/import/left_out_lines.h"
#include "formats/valgrind/frame_text.h"
#include "formats/valgrind/massif.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 53;
constexpr std::size_t kMostTreeDepth = 1024;
constexpr double kMostTime = 1e18;  // ns: thirty years, and what still fits into 64 bits
constexpr std::string_view kBelow = "[places below massif's threshold]";

class MassifReader {
 public:
  MassifReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {
    // heaptrack_print writes the head behind the snapshots that need it.
    constexpr std::string_view kUnit = "time_unit: ";
    if (const std::size_t at = text.find(kUnit); at != std::string_view::npos) {
      text.remove_prefix(at + kUnit.size());
      unit_ = take_until(text, '\n');
    }
  }

  Result<model::Profile> read() {
    while (!rest_.empty()) {
      ++line_;
      const std::string_view line = take_until(rest_, '\n');
      if (!take(line)) left_out_.add(line_, line);
    }
    end_snapshot();
    if (slices_ == 0)
      return fail(ErrorKind::kMalformed, name_ + ": no snapshot of massif has stacks in it",
                  "valgrind --tool=massif --detailed-freq=1 COMMAND");
    return finish();
  }

 private:
  // One node of a tree: a place that allocated, or who called it.
  struct Node {
    model::FrameId frame;
    std::uint64_t bytes = 0, in_children = 0;
    std::uint64_t children = 0;
  };

  bool take(std::string_view line) {
    if (line.empty() || line.front() == '#') return true;
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) return true;
    if (line[first] == 'n' && line.find(": ") != std::string_view::npos && line.find('=') > line.find(": "))
      return take_node(line.substr(first), first);
    if (const std::size_t colon = line.find(": ");
        colon != std::string_view::npos && colon < line.find('=')) {
      const std::string_view key = line.substr(0, colon), value = line.substr(colon + 2);
      if (key == "cmd") command_ = value;
      return key == "cmd" || key == "time_unit" || key == "desc";
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return line.starts_with("desc:");
    const std::string_view key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == "heap_tree") {
      has_tree_ = value != "empty";
      is_peak_ = value == "peak";
      return true;
    }
    if (key == "time") return take_time(value);
    const std::optional<std::uint64_t> number = parse_number(value);
    if (!number || *number > kMostBytes) return false;
    if (key == "snapshot") {
      end_snapshot();
      in_snapshot_ = true;
    }
    if (key == "mem_heap_B") heap_bytes_ = *number;
    if (key == "mem_heap_extra_B") extra_bytes_ = *number;
    if (key == "mem_stacks_B") stack_bytes_ = *number;
    return true;
  }

  // valgrind writes whole numbers, heaptrack_print seconds with fractions.
  bool take_time(std::string_view value) {
    const auto time = parse_number<double>(value);
    if (!time || !(*time >= 0 && *time <= kMostTime)) return false;
    time_ = *time;
    return true;
  }

  // "n2: 4096 0x1091B9: keep (book.c:12)": the number of its callers, their bytes, and the place. A space deeper for each call.
  bool take_node(std::string_view text, std::size_t depth) {
    if (!has_tree_ || depth > path_.size() || depth > kMostTreeDepth) return false;
    const std::size_t colon = text.find(": ");
    const auto children = parse_number(text.substr(1, colon - 1));
    text.remove_prefix(colon + 2);
    const auto bytes = parse_number(text.substr(0, text.find(' ')));
    if (!children || !bytes || *bytes > kMostBytes) return false;
    text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
    close_below(depth);
    Node node;
    node.bytes = *bytes;
    node.children = *children;
    if (depth > 0) {
      if (path_[depth - 1].in_children > kMostBytes) return false;
      path_[depth - 1].in_children += *bytes;
      if (text.find(" all below massif's threshold") != std::string_view::npos) {
        node.frame = import_.frame(import_.module({}), kBelow);
      } else {
        const FrameText frame = parse_frame_text(text);
        node.frame = import_.frame(import_.module(frame.module), frame.function, frame.file, frame.line);
      }
    }
    path_.push_back(node);
    return true;
  }

  // What of a node no caller accounts for is its own; of the whole, it is of no place that the file names.
  void close_below(std::size_t depth) {
    while (path_.size() > depth) {
      const Node& node = path_.back();
      if (node.bytes > node.in_children) {
        model::StackId stack{0};
        if (path_.size() == 1)
          stack = import_.builder.stack(stack, import_.frame(import_.module({}), kBelow));
        for (std::size_t i = path_.size(); i-- > 1;) stack = import_.builder.stack(stack, path_[i].frame);
        live_[import_.site({0}, stack).value] += node.bytes - node.in_children;
      }
      path_.pop_back();
    }
  }

  // Nanoseconds of the file's unit; none where it is no unit of time.
  std::optional<double> scale() const {
    if (unit_ == "ms") return 1e6;
    if (unit_ == "s") return 1e9;
    return std::nullopt;
  }

  std::uint64_t clock() const {
    if (scale()) return kImportStart + static_cast<std::uint64_t>(std::min(time_ * *scale(), kMostTime));
    return kImportStart + snapshots_ * kSecond;
  }

  void end_snapshot() {
    if (!in_snapshot_) return;
    in_snapshot_ = false;
    close_below(0);
    model::HeapTables& tables = import_.profile.heap;
    if (tables.heaps.empty()) {
      model::Heap heap;
      heap.process = import_.process(0, "");
      heap.mode = model::HeapMode::kExact;
      heap.from_start = true;
      heap.start_ns = kImportStart;
      tables.heaps.push_back(heap);
    }
    const std::uint64_t now = std::max(clock(), last_ns_);
    last_ns_ = now;
    ++snapshots_;
    if (heap_bytes_ >= most_bytes_) {
      most_bytes_ = heap_bytes_;
      most_ns_ = now;
    }
    if (has_tree_) end_slice(now);
    has_tree_ = is_peak_ = false;
    live_.clear();
  }

  void end_slice(std::uint64_t now) {
    model::HeapTables& tables = import_.profile.heap;
    model::Heap& heap = tables.heaps[0];
    const model::HeapSliceId slice{static_cast<std::uint32_t>(tables.slices.size())};
    model::HeapSlice row{{0}, slice_start_ns_, now, most_ns_, static_cast<double>(most_bytes_), 0, 0};
    std::map<std::uint32_t, std::uint64_t> before = std::move(before_);
    const auto change = [&](std::uint32_t site, std::uint64_t now_bytes, std::uint64_t then_bytes) {
      if (now_bytes == then_bytes) return;
      model::HeapRow made;
      made.slice = slice;
      made.site = {site};
      made.allocated.bytes = now_bytes > then_bytes ? static_cast<double>(now_bytes - then_bytes) : 0;
      made.freed.bytes = now_bytes < then_bytes ? static_cast<double>(then_bytes - now_bytes) : 0;
      // Numbers of blocks are not in the file.
      made.allocated.blocks = then_bytes == 0 ? 1 : 0;
      made.freed.blocks = now_bytes == 0 ? 1 : 0;
      tables.rows.push_back(made);
    };
    std::uint64_t sum = 0;
    for (const auto& [site, bytes] : live_) {
      const auto then = before.find(site);
      change(site, bytes, then == before.end() ? 0 : then->second);
      if (then != before.end()) before.erase(then);
      sum += bytes;
    }
    for (const auto& [site, bytes] : before) change(site, 0, bytes);
    row.live_bytes = static_cast<double>(sum);
    row.live_blocks = static_cast<double>(live_.size());
    row.peak_bytes = std::max(row.peak_bytes, row.live_bytes);
    tables.slices.push_back(row);
    heap.end_ns = now;
    heap.events += live_.size();
    if (is_peak_ || (!has_peak_ && row.live_bytes >= heap.peak_bytes)) {
      has_peak_ = is_peak_;
      heap.peak_bytes = row.live_bytes;
      heap.peak_blocks = row.live_blocks;
      heap.peak_ns = now;
      peak_extra_ = extra_bytes_;
      peak_stacks_ = stack_bytes_;
      tables.summaries.clear();
      for (const auto& [site, bytes] : live_)
        tables.summaries.push_back({{site}, {1, static_cast<double>(bytes)}, {}, 0});
    }
    before_ = std::move(live_);
    live_.clear();
    slice_start_ns_ = now;
    most_bytes_ = 0;
    most_ns_ = now;
    ++slices_;
    detailed_ns_ = now;
  }

  Result<model::Profile> finish() {
    model::Profile& profile = import_.profile;
    model::Meta& meta = profile.meta;
    model::put_facts(model::ImportFacts{.no_allocated = true}, meta);
    model::put_facts(model::ImportFacts{.heap_lives = "not known"}, meta);
    model::put_facts(model::ImportFacts{.no_block_counts = true}, meta);
    if (!command_.empty()) model::put_facts(model::OriginFacts{.command = std::string(command_)}, meta);
    meta.start_ns = kImportStart;
    meta.end_ns = last_ns_;
    const std::string_view program = command_.substr(0, command_.find(' '));
    profile.processes[0].name = import_.builder.string(base_name(program));
    if (!program.empty()) profile.processes[0].executable = import_.builder.string(program);
    import_.note(fmt::format(
        "massif keeps stacks of live memory at {} of {} moments, and no numbers of blocks: each call site counts as one.",
        slices_, snapshots_));
    if (!scale()) {
      import_.note("massif counted instructions or bytes, not time: each snapshot counts as one second.");
      model::put_facts(model::ImportFacts{.steps = "snapshot"}, import_.profile.meta);
    }
    if (last_ns_ > detailed_ns_)
      import_.note("The last snapshots have no stacks: live memory is from the last one that has them.");
    if (left_out_.count() != 0) import_.note(left_out_.note(line_, "none of massif's"));
    if (peak_extra_ != 0)
      import_.note(fmt::format("At the peak the allocator took {} bytes more for itself.", peak_extra_));
    if (peak_stacks_ != 0)
      import_.note(fmt::format("At the peak the thread stacks took {} bytes.", peak_stacks_));
    return import_.finish(name_);
  }

  std::string_view rest_, command_, unit_ = "i";
  const std::string& name_;
  Import import_{"massif"};
  LeftOutLines left_out_;
  std::uint64_t line_ = 0, snapshots_ = 0, slices_ = 0;
  // Of the snapshot that is read.
  double time_ = 0;
  std::uint64_t heap_bytes_ = 0, extra_bytes_ = 0, stack_bytes_ = 0;
  bool in_snapshot_ = false, has_tree_ = false, is_peak_ = false;
  std::vector<Node> path_;  // from the root of the tree, which stands for all of it
  std::map<std::uint32_t, std::uint64_t> live_,
      before_;  // bytes by site: here, and in the last one with stacks
  std::uint64_t last_ns_ = kImportStart, slice_start_ns_ = kImportStart, detailed_ns_ = kImportStart;
  std::uint64_t most_bytes_ = 0, most_ns_ = kImportStart;
  bool has_peak_ = false;
  std::uint64_t peak_extra_ = 0, peak_stacks_ = 0;
};

}  // namespace

bool is_massif(std::string_view text) {
  if (!text.starts_with("desc:") && !text.starts_with("#-----------")) return false;
  const std::string_view head = text.substr(0, 64 * 1024);
  return head.find("snapshot=") != std::string_view::npos &&
         head.find("mem_heap_B=") != std::string_view::npos;
}

Result<model::Profile> read_massif(std::string_view text, const std::string& name) {
  return MassifReader(text, name).read();
}

}  // namespace fathom::formats
