// The parts of a document other than sums over time: single waits and their objects, shapes and blocks of the
// heap, modules and the quality of their symbols. docs/page.md lists the columns.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "present/page/call_nodes.h"
#include "present/page/columns.h"
#include "present/page/cost_table.h"

namespace fathom::page {

template <class Row, class Value>
std::vector<std::uint64_t> column(const std::vector<Row>& rows, Value value) {
  std::vector<std::uint64_t> out;
  out.reserve(rows.size());
  for (const Row& row : rows) out.push_back(value(row));
  return out;
}
inline std::vector<std::int64_t> differences(const std::vector<std::uint64_t>& values) {
  return {values.begin(), values.end()};
}

// Columns "node.*" and "place.*".
void add_nodes(const std::vector<CallNode>& nodes, const std::vector<Place>& places, Columns& columns);
// Columns NAME.thread, .node and .entries; of a table of costs also .slice and .value (Columns::add_entries).
void add_cells(const std::string& name, const std::vector<Cell>& cells,
               const std::vector<std::uint32_t>& first, Columns& columns);
void add_table(const std::string& name, const CostTable& table, Columns& columns);

// Columns "wait.*" and "object.*"; what the head says of them.
nlohmann::ordered_json add_wait_parts(const model::Profile& profile, const Costs& costs, Columns& columns);
// Columns "shape.*" and "block.*".
nlohmann::ordered_json add_heap_parts(const Costs& costs, Columns& columns);
// By name: path, build id, where its symbols come from.
nlohmann::ordered_json modules_of(const model::Profile& profile);

// The columns of add_wait_parts() of what has no waits.
void add_no_waits(Columns& columns);
// A whole document: the mark, the head with its table of columns, the columns; compressed.
Result<std::string> pack_document(nlohmann::ordered_json head, const Columns& columns);

}  // namespace fathom::page
