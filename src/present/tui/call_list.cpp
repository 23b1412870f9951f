#include "present/tui/call_list.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fathom::tui {
namespace {

constexpr std::size_t kMostRows = 200'000;

}  // namespace

CallList::CallList(analysis::MergedCalls calls) : calls_(std::move(calls)), open_(calls_.nodes().size(), 0) {
  make_rows();
  if (rows_.size() == 1) open(0);
}

std::vector<std::uint32_t> CallList::children(std::uint32_t id) const {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t child = node(id).first_child; child != 0; child = node(child).next_sibling)
    ids.push_back(child);
  std::sort(ids.begin(), ids.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(-node(a).total, node(a).name, node(a).module) <
           std::tuple(-node(b).total, node(b).name, node(b).module);
  });
  return ids;
}

void CallList::make_rows() {
  rows_.clear();
  std::vector<Row> todo;
  const auto push = [&](std::uint32_t parent, std::uint32_t depth) {
    const std::vector<std::uint32_t> ids = children(parent);
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) todo.push_back({*id, depth});
  };
  push(0, 0);
  while (!todo.empty() && rows_.size() < kMostRows) {
    const Row row = todo.back();
    todo.pop_back();
    rows_.push_back(row);
    if (open_[row.node] != 0) push(row.node, row.depth + 1);
  }
}

void CallList::open(std::size_t row) {
  if (row >= rows_.size()) return;
  for (std::uint32_t id = rows_[row].node; has_children(id);) {
    open_[id] = 1;
    const std::vector<std::uint32_t> ids = children(id);
    if (ids.size() != 1) break;
    id = ids.front();
  }
  make_rows();
}

void CallList::close(std::size_t row) {
  if (row >= rows_.size()) return;
  open_[rows_[row].node] = 0;
  make_rows();
}

void CallList::open_these(const std::vector<std::uint32_t>& nodes) {
  for (const std::uint32_t id : nodes) open_[id] = 1;
  make_rows();
}

std::optional<std::size_t> CallList::find(
    std::size_t row, bool forward, bool from_here,
    const std::function<bool(const analysis::MergedCalls::Node&)>& wanted) {
  if (rows_.empty()) return std::nullopt;
  // Every node in the order in which it would stand if all were open, with who called it.
  std::vector<std::uint32_t> order, callers(calls_.nodes().size(), 0), todo;
  const auto push = [&](std::uint32_t parent) {
    const std::vector<std::uint32_t> ids = children(parent);
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      callers[*id] = parent;
      todo.push_back(*id);
    }
  };
  push(0);
  std::size_t here = 0;
  const std::uint32_t current = rows_[std::min(row, rows_.size() - 1)].node;
  while (!todo.empty()) {
    const std::uint32_t id = todo.back();
    todo.pop_back();
    if (id == current) here = order.size();
    order.push_back(id);
    push(id);
  }
  for (std::size_t i = from_here ? 0 : 1; i < order.size() + (from_here ? 0 : 1); ++i) {
    const std::uint32_t id = order[(here + (forward ? i : order.size() - i % order.size())) % order.size()];
    if (!wanted(node(id))) continue;
    for (std::uint32_t up = callers[id]; up != 0; up = callers[up]) open_[up] = 1;
    make_rows();
    for (std::size_t at = 0; at < rows_.size(); ++at)
      if (rows_[at].node == id) return at;
    return std::nullopt;
  }
  return std::nullopt;
}

void CallList::open_all() {
  std::fill(open_.begin(), open_.end(), 1);
  make_rows();
}

void CallList::close_all() {
  std::fill(open_.begin(), open_.end(), 0);
  make_rows();
}

}  // namespace fathom::tui
