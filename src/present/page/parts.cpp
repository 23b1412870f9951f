#include "present/page/parts.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "analysis/core/selection.h"
#include "analysis/core/words.h"
#include "present/sentences/symbol_words.h"

namespace fathom::page {

using Json = nlohmann::ordered_json;

void add_nodes(const std::vector<CallNode>& nodes, const std::vector<Place>& places, Columns& columns) {
  std::vector<std::uint64_t> back;  // how many rows above it the parent stands: mostly one
  for (std::size_t i = 0; i < nodes.size(); ++i) back.push_back(i - nodes[i].parent);
  columns.add_unsigned("node.back", back);
  columns.add_unsigned("node.place", column(nodes, [](const CallNode& node) { return node.place; }));
  const auto add = [&](const char* name, auto value) { columns.add_unsigned(name, column(places, value)); };
  add("place.name", [](const Place& place) { return place.name; });
  add("place.module", [](const Place& place) { return place.module; });
  add("place.short", [](const Place& place) { return place.short_name; });
  add("place.crate", [](const Place& place) { return place.crate; });
  add("place.file", [](const Place& place) { return place.file; });
  add("place.line", [](const Place& place) { return place.first_line; });
  add("place.last_line", [](const Place& place) { return place.last_line; });
  add("place.kind", [](const Place& place) { return static_cast<std::uint64_t>(place.kind); });
  add("place.whose", [](const Place& place) { return static_cast<std::uint64_t>(place.whose); });
}

void add_cells(const std::string& name, const std::vector<Cell>& cells,
               const std::vector<std::uint32_t>& first, Columns& columns) {
  columns.add_unsigned(name + ".thread", column(cells, [](const Cell& cell) { return cell.thread; }));
  columns.add_differences(name + ".node",
                          differences(column(cells, [](const Cell& cell) { return cell.node; })));
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i + 1 < first.size(); ++i) counts.push_back(first[i + 1] - first[i]);
  columns.add_unsigned(name + ".entries", counts);
}

void add_table(const std::string& name, const CostTable& table, Columns& columns) {
  add_cells(name, table.cells, table.first, columns);
  columns.add_entries(name, table.first, table.slices, table.values);
}

Json add_wait_parts(const model::Profile& profile, const Costs& costs, Columns& columns) {
  Json objects = Json::array();
  for (const ObjectNames::Row& row : costs.objects)
    objects.push_back({{"name", row.name}, {"kind", static_cast<int>(row.kind)}});
  add_table("object", costs.by_object, columns);
  const auto add = [&](const char* name, auto value) {
    columns.add_unsigned(std::string("wait.") + name, column(costs.waits, value));
  };
  // Of a thread: its row of the names, and its number.
  const auto name_of_thread = [&](model::ThreadId thread) -> std::uint64_t {
    return thread == model::kNoThread ? 0 : costs.thread_names[thread.value] + 1u;
  };
  const auto tid = [&](model::ThreadId thread) -> std::uint64_t {
    return thread == model::kNoThread ? 0 : static_cast<std::uint32_t>(profile.threads[thread.value].tid);
  };
  columns.add_differences("wait.start_ns",
                          differences(column(costs.waits, [](const WaitRow& row) { return row.start_ns; })));
  add("waited_ns", [](const WaitRow& row) { return row.waited_ns; });
  add("queued_ns", [](const WaitRow& row) { return row.queued_ns; });
  add("thread", [&](const WaitRow& row) { return name_of_thread(row.thread); });
  add("tid", [&](const WaitRow& row) { return tid(row.thread); });
  add("waker", [&](const WaitRow& row) { return name_of_thread(row.waker); });
  add("waker_tid", [&](const WaitRow& row) { return tid(row.waker); });
  add("node", [](const WaitRow& row) { return row.node; });
  add("waker_node", [](const WaitRow& row) { return row.waker_node; });
  add("object", [](const WaitRow& row) { return row.object; });
  add("weight", [](const WaitRow& row) { return row.weight; });
  return {{"objects", std::move(objects)}, {"shorter", costs.shorter_waits}};
}

Json add_heap_parts(const Costs& costs, Columns& columns) {
  if (!costs.has_heap) return nullptr;
  const HeapShapes& of = costs.shapes;
  columns.add_differences("shape.cell",
                          differences(column(of.shapes, [](const HeapShape& row) { return row.cell; })));
  columns.add_unsigned("shape.kind", column(of.shapes, [](const HeapShape& row) {
                         return static_cast<std::uint64_t>(row.kind);
                       }));
  columns.add_unsigned("shape.bucket", column(of.shapes, [](const HeapShape& row) { return row.bucket; }));
  std::vector<double> numbers;
  for (const HeapShape& row : of.shapes) numbers.push_back(row.sum.blocks);
  columns.add_reals("shape.blocks", numbers);
  const auto add = [&](const char* name, auto value) {
    columns.add_unsigned(std::string("block.") + name, column(of.blocks, value));
  };
  add("cell", [](const HeapBlockRow& row) { return row.cell; });
  add("address", [](const HeapBlockRow& row) { return row.address; });
  add("size", [](const HeapBlockRow& row) { return row.size; });
  add("allocated_ns", [](const HeapBlockRow& row) { return row.allocated_ns; });
  numbers.clear();
  for (const HeapBlockRow& row : of.blocks) numbers.push_back(row.blocks);
  columns.add_reals("block.blocks", numbers);
  return {{"knows_blocks", of.knows_blocks}};
}

Json modules_of(const model::Profile& profile) {
  Json out = Json::array();
  std::vector<bool> seen(profile.modules.size());
  for (const model::Frame& frame : profile.frames) seen[frame.module.value] = true;
  for (std::size_t i = 0; i < profile.modules.size(); ++i) {
    const model::Module& module = profile.modules[i];
    const std::string name(profile.strings[module.name]);
    if (!seen[i] || name.empty()) continue;
    out.push_back({{"name", analysis::printable(name)},
                   {"build_id", analysis::printable(profile.strings[module.build_id])},
                   {"symbols", std::string(present::describe(module.symbols))}});
  }
  return out;
}

void add_no_waits(Columns& columns) {
  add_table("object", {}, columns);
  for (const char* name : {"start_ns", "waited_ns", "queued_ns", "thread", "tid", "waker", "waker_tid",
                           "node", "waker_node", "object", "weight"})
    columns.add_unsigned(std::string("wait.") + name, std::span<const std::uint64_t>());
}

Result<std::string> pack_document(Json head, const Columns& columns) {
  Json& table = head["columns"] = Json::object();
  for (const ColumnPlace& place : columns.places())
    table[place.name] = {std::string(1, static_cast<char>(place.kind)), place.offset, place.bytes,
                         place.count};
  const std::string json = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string whole = "fathom page\n";
  for (int shift = 0; shift < 32; shift += 8) whole += static_cast<char>(json.size() >> shift & 0xff);
  const std::array<std::string_view, 3> parts{whole, json, columns.bytes()};
  return compress(parts);
}

}  // namespace fathom::page
