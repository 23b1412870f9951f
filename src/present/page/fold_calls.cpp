#include "present/page/fold_calls.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace fathom::page {
namespace {

// By node the largest share of all metrics, with what it calls.
std::vector<double> largest_shares(const CallNodes& nodes, const Costs& costs) {
  std::vector<double> largest(nodes.nodes.size());
  const auto take = [&](std::vector<double> totals) {
    for (std::size_t i = totals.size(); i-- > 1;) totals[nodes.nodes[i].parent] += totals[i];
    if (!(totals[0] > 0)) return;
    for (std::size_t i = 0; i < totals.size(); ++i) largest[i] = std::max(largest[i], totals[i] / totals[0]);
  };
  for (const CostTable& table : costs.tables) {
    std::vector<double> totals(nodes.nodes.size());
    for (std::size_t cell = 0; cell < table.cells.size(); ++cell)
      for (std::uint32_t i = table.first[cell]; i < table.first[cell + 1]; ++i)
        totals[table.cells[cell].node] += std::fabs(static_cast<double>(table.values[i]));
    take(std::move(totals));
  }
  if (!costs.has_heap) return largest;
  std::vector<double> allocated(nodes.nodes.size()), live(nodes.nodes.size());
  for (std::size_t cell = 0; cell < costs.heap.cells.size(); ++cell) {
    const std::uint32_t node = costs.heap.cells[cell].node;
    double left = 0;
    for (std::uint32_t i = costs.heap.first[cell]; i < costs.heap.first[cell + 1]; ++i) {
      allocated[node] += costs.heap.entries[i].allocated.bytes;
      left += costs.heap.entries[i].allocated.bytes - costs.heap.entries[i].freed.bytes;
    }
    live[node] += std::max(left, costs.heap.peak[cell].bytes);
  }
  take(std::move(allocated));
  take(std::move(live));
  return largest;
}

// Cells of one thread and node become one.
CostTable merge(const CostTable& table, const std::vector<std::uint32_t>& moved) {
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> together;
  std::vector<Cell> cells;
  for (std::uint32_t i = 0; i < table.cells.size(); ++i) {
    const Cell cell{table.cells[i].thread, moved[table.cells[i].node]};
    std::vector<std::uint32_t>& rows = together[std::uint64_t{cell.thread} << 32 | cell.node];
    if (rows.empty()) cells.push_back(cell);
    rows.push_back(i);
  }
  CostTable out;
  out.metric = table.metric;
  for (const Cell& cell : cells) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> entries;
    for (const std::uint32_t row : together[std::uint64_t{cell.thread} << 32 | cell.node])
      for (std::uint32_t i = table.first[row]; i < table.first[row + 1]; ++i)
        entries.emplace_back(table.slices[i], table.values[i]);
    std::sort(entries.begin(), entries.end());
    out.cells.push_back(cell);
    const std::size_t first = out.slices.size();
    for (const auto& [slice, value] : entries) {
      if (out.slices.size() > first && out.slices.back() == slice) {
        out.values.back() += value;
      } else {
        out.slices.push_back(slice);
        out.values.push_back(value);
      }
    }
    out.first.push_back(static_cast<std::uint32_t>(out.slices.size()));
  }
  return out;
}

// Places that no node has any more go, and so do the texts that nothing names.
void drop_unused(CallNodes& nodes, Costs& costs) {
  std::vector<std::uint32_t> moved(nodes.places.size());
  std::vector<Place> places{nodes.places[0]};
  for (CallNode& node : nodes.nodes) {
    if (node.place == 0) continue;
    std::uint32_t& to = moved[node.place];
    if (to == 0) {
      to = static_cast<std::uint32_t>(places.size());
      places.push_back(nodes.places[node.place]);
    }
    node.place = to;
  }
  Texts texts;
  const std::vector<std::string>& rows = nodes.texts.rows();
  for (Place& place : places)
    for (std::uint32_t* text : {&place.name, &place.module, &place.crate, &place.file, &place.short_name})
      *text = texts.of(rows[*text]);
  for (ThreadName& thread : costs.threads) thread.name = texts.of(rows[thread.name]);
  nodes.places = std::move(places);
  nodes.texts = std::move(texts);
}

}  // namespace

std::uint32_t fold_small_calls(CallNodes& nodes, Costs& costs, double share) {
  const std::vector<double> shares = largest_shares(nodes, costs);
  Place folded;
  folded.name = nodes.texts.of("(smaller calls)");
  folded.kind = PlaceKind::kFolded;
  const auto place = static_cast<std::uint32_t>(nodes.places.size());
  nodes.places.push_back(folded);
  std::vector<CallNode> kept{nodes.nodes[0]};
  std::vector<std::uint32_t> moved(nodes.nodes.size()), rest(nodes.nodes.size());
  std::uint32_t count = 0;
  for (std::uint32_t i = 1; i < nodes.nodes.size(); ++i) {
    const std::uint32_t parent = nodes.nodes[i].parent;
    const PlaceKind kind = nodes.places[nodes.nodes[i].place].kind;
    const bool below_rest = moved[parent] != 0 && kept[moved[parent]].place == place;
    // The objects of waits take few and small nodes, and the lanes need them.
    const bool is_cause = kind == PlaceKind::kCause || kind == PlaceKind::kIdle;
    if (is_cause || (!below_rest && shares[i] >= share)) {
      moved[i] = static_cast<std::uint32_t>(kept.size());
      kept.push_back({moved[parent], nodes.nodes[i].place});
      continue;
    }
    ++count;
    if (below_rest) {
      moved[i] = moved[parent];
      continue;
    }
    std::uint32_t& below = rest[moved[parent]];
    if (below == 0) {
      below = static_cast<std::uint32_t>(kept.size());
      kept.push_back({moved[parent], place});
    }
    moved[i] = below;
  }
  nodes.nodes = std::move(kept);
  for (CostTable& table : costs.tables) table = merge(table, moved);
  costs.by_object = merge(costs.by_object, moved);
  for (WaitRow& row : costs.waits) {
    row.node = moved[row.node];
    row.waker_node = moved[row.waker_node];
  }
  for (Cell& cell : costs.heap.cells) cell.node = moved[cell.node];
  drop_unused(nodes, costs);
  return count;
}

}  // namespace fathom::page
