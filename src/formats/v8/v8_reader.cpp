#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "formats/import/import.h"
#include "formats/json/json.h"
#include "formats/v8/v8.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kRoot = "(root)", kIdle = "(idle)";

tl::unexpected<Error> wrong(const std::string& name, std::string_view what) {
  return fail(ErrorKind::kMalformed, fmt::format("{}: a profile of V8: {}", name, what));
}

// Nodes stand nested ("children" are nodes) or in a list ("children" are their ids). Stacks by id, walked without recursion:
// the depth is the file's.
class Nodes {
 public:
  struct Node {
    model::StackId stack{0};
    bool idle = false;
    double count = 0, bytes = 0;  // "hitCount", "selfSize"
  };

  explicit Nodes(Import& import) : import_(import), module_(import.module({})) {}

  void read_nested(const Json& root) {
    std::vector<std::pair<const Json*, model::StackId>> open{{&root, {0}}};
    while (!open.empty()) {
      const auto [node, parent] = open.back();
      open.pop_back();
      const model::StackId stack = add(*node, parent);
      const Json& children = member(*node, "children");
      for (std::size_t i = 0; i < length_of(children); ++i) open.emplace_back(&children[i], stack);
    }
  }

  // Parents by who lists them, or by the "parent" of newer files.
  void read_list(const Json& list) {
    std::unordered_map<std::uint64_t, std::size_t> rows;
    for (std::size_t i = 0; i < length_of(list); ++i) rows.try_emplace(row_of(member(list[i], "id")), i);
    std::vector<std::vector<std::size_t>> children(length_of(list));
    std::vector<char> has_parent(length_of(list), 0);
    const auto join = [&](std::size_t parent, std::uint64_t child_id) {
      const auto child = rows.find(child_id);
      if (child == rows.end() || has_parent[child->second] != 0 || child->second == parent) return;
      has_parent[child->second] = 1;
      children[parent].push_back(child->second);
    };
    for (std::size_t i = 0; i < length_of(list); ++i) {
      const Json& ids = member(list[i], "children");
      for (std::size_t k = 0; k < length_of(ids); ++k) join(i, row_of(ids[k]));
      if (const auto parent = rows.find(row_of(member(list[i], "parent"))); parent != rows.end())
        join(parent->second, row_of(member(list[i], "id")));
    }
    // Nodes in a ring have parents only, and are never reached.
    std::vector<std::pair<std::size_t, model::StackId>> open;
    for (std::size_t i = length_of(list); i-- > 0;)
      if (has_parent[i] == 0) open.push_back({i, {0}});
    while (!open.empty()) {
      const auto [row, parent] = open.back();
      open.pop_back();
      const model::StackId stack = add(list[row], parent);
      for (const std::size_t child : children[row]) open.emplace_back(child, stack);
    }
  }

  const Node* find(std::uint64_t id) const {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : &found->second;
  }
  const std::vector<std::uint64_t>& ids() const { return order_; }
  bool empty() const { return nodes_.empty(); }

 private:
  model::StackId add(const Json& json, model::StackId parent) {
    const Json& call = member(json, "callFrame").is_object() ? member(json, "callFrame") : json;
    std::string function = text_of(member(call, "functionName"));
    Node node;
    node.stack = parent;
    node.idle = function == kIdle;
    node.count = number_of(member(json, "hitCount"));
    node.bytes = number_of(member(json, "selfSize"));
    if (function != kRoot) {
      if (function.empty()) function = "(anonymous)";
      node.stack =
          import_.builder.stack(parent, import_.frame(module_, function, text_of(member(call, "url")),
                                                      line_of(member(call, "lineNumber"), 1)));
    }
    const std::uint64_t id = row_of(member(json, "id"));
    if (nodes_.try_emplace(id, node).second) order_.push_back(id);
    return node.stack;
  }

  Import& import_;
  model::ModuleId module_;
  std::unordered_map<std::uint64_t, Node> nodes_;
  std::vector<std::uint64_t> order_;
};

}  // namespace

bool is_cpu_profile(std::string_view text) {
  return is_json_with(text, "hitCount") && (is_json_with(text, "nodes") || is_json_with(text, "head"));
}

bool is_heap_profile(std::string_view text) {
  return is_json_with(text, "head") && is_json_with(text, "selfSize");
}

Result<model::Profile> read_cpu_profile(std::string_view text, const std::string& name) {
  const Result<Json> json = parse_json(text, name);
  if (!json) return tl::unexpected(json.error());
  Import import("cpuprofile");
  Nodes nodes(import);
  if (member(*json, "nodes").is_array())
    nodes.read_list(member(*json, "nodes"));
  else if (member(*json, "head").is_object())
    nodes.read_nested(member(*json, "head"));
  if (nodes.empty()) return wrong(name, "no nodes in it");
  const model::ThreadId thread = import.thread(import.process(0, "javascript"), 0, "javascript");
  model::Meta& meta = import.profile.meta;
  meta.start_ns = meta.end_ns = kImportStart;
  const auto add = [&](const Nodes::Node& node, std::uint64_t time_ns, std::int64_t value) {
    if (value <= 0) return;
    model::Sample row;
    row.time_ns = time_ns;
    row.value = value;
    row.thread = thread;
    row.stack = node.stack;
    row.metric = node.idle ? model::Metric::kOffCpu : model::Metric::kCpu;
    import.profile.samples.push_back(row);
  };

  const Json &samples = member(*json, "samples"), &deltas = member(*json, "timeDeltas");
  if (length_of(samples) == 0) {
    for (const std::uint64_t id : nodes.ids()) {
      const Nodes::Node& node = *nodes.find(id);
      if (node.count >= 1 && node.count < 9e15 && !node.idle) add(node, 0, std::llround(node.count));
    }
    return import.finish(name);
  }
  model::put_facts(model::ImportFacts{.unit = "ns"}, meta);
  // Microseconds since the start. Samples of several threads of V8 come out of order now and then.
  std::vector<std::pair<double, std::size_t>> times;
  double now = 0;
  for (std::size_t i = 0; i < length_of(samples); ++i) {
    now += number_of(element(deltas, i));
    if (!std::isfinite(now) || std::fabs(now) > 1e15) return wrong(name, "times that are not times");
    times.emplace_back(now, i);
  }
  std::ranges::sort(times);
  const double last = times.back().first;
  const double end = std::clamp(number_of(member(*json, "endTime")) - number_of(member(*json, "startTime")),
                                last, last + 1e12);
  const auto ns_at = [&](double microseconds) { return std::llround(std::max(0.0, microseconds) * 1e3); };
  std::uint64_t unknown = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t from = ns_at(times[i].first);
    const std::int64_t to = ns_at(i + 1 < times.size() ? times[i + 1].first : end);
    const Nodes::Node* node = nodes.find(row_of(samples[times[i].second]));
    if (node == nullptr)
      ++unknown;
    else
      add(*node, kImportStart + static_cast<std::uint64_t>(from), to - from);
  }
  meta.end_ns = kImportStart + static_cast<std::uint64_t>(ns_at(end));
  if (unknown != 0) import.note(fmt::format("{} samples refer to missing nodes.", unknown));
  import.profile.quality.samples = times.size();
  return import.finish(name);
}

Result<model::Profile> read_heap_profile(std::string_view text, const std::string& name) {
  const Result<Json> json = parse_json(text, name);
  if (!json) return tl::unexpected(json.error());
  Import import("heapprofile");
  Nodes nodes(import);
  if (member(*json, "head").is_object()) nodes.read_nested(member(*json, "head"));
  if (nodes.empty()) return wrong(name, "no nodes in it");
  model::Heap heap;
  heap.process = import.process(0, "javascript");
  heap.mode = model::HeapMode::kSampled;
  heap.from_start = true;
  heap.start_ns = heap.end_ns = heap.peak_ns = kImportStart;
  model::Meta& meta = import.profile.meta;
  meta.start_ns = meta.end_ns = kImportStart;
  model::put_facts(model::ImportFacts{.heap_source = "dump"}, meta);
  model::put_facts(model::ImportFacts{.no_allocated = true}, meta);
  std::unordered_map<std::uint64_t, double> blocks;
  const Json& samples = member(*json, "samples");
  for (std::size_t i = 0; i < length_of(samples); ++i) blocks[row_of(member(samples[i], "nodeId"))] += 1;
  model::HeapSlice slice{{0}, kImportStart, kImportStart, kImportStart, 0, 0, 0};
  for (const std::uint64_t id : nodes.ids()) {
    const Nodes::Node& node = *nodes.find(id);
    if (!(node.bytes > 0)) continue;
    if (node.bytes > 1e18) return wrong(name, "a size that is none");
    model::HeapRow row;
    row.site = import.site({0}, node.stack);
    row.allocated = {std::max(1.0, blocks[id]), node.bytes};
    import.profile.heap.rows.push_back(row);
    slice.live_blocks += row.allocated.blocks;
    slice.live_bytes += row.allocated.bytes;
  }
  slice.peak_bytes = heap.peak_bytes = slice.live_bytes;
  heap.peak_blocks = slice.live_blocks;
  import.profile.heap.slices.push_back(slice);
  import.profile.heap.heaps.push_back(heap);
  import.note(
      "V8 sampled its heap and does not say at which interval: sizes are its estimates, blocks its samples.");
  return import.finish(name);
}

}  // namespace fathom::formats
