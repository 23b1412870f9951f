// A call tree with nodes that open and close: the rows that are to be seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/core/tree_view.h"

namespace fathom::tui {

class CallList {
 public:
  struct Row {
    std::uint32_t node = 0;
    std::uint32_t depth = 0;
  };
  explicit CallList(analysis::MergedCalls calls);

  const std::vector<Row>& rows() const { return rows_; }
  const analysis::MergedCalls::Node& node(std::uint32_t id) const { return calls_.nodes()[id]; }
  const analysis::MergedCalls::Node& root() const { return calls_.nodes().front(); }
  bool has_children(std::uint32_t id) const { return node(id).first_child != 0; }
  bool is_open(std::uint32_t id) const { return open_[id] != 0; }
  // Opening goes on down a chain of calls that only hand on. Rows above stay where they are.
  void open(std::size_t row);
  void close(std::size_t row);
  // These, and nothing else that was closed.
  void open_these(const std::vector<std::uint32_t>& nodes);
  // The next node of which `wanted` holds, in the order of the whole tree, from the row on (or behind it), and around; what it
  // lies below is opened. Its row; none where there is no such node, or its row would be beyond those that are shown.
  std::optional<std::size_t> find(std::size_t row, bool forward, bool from_here,
                                  const std::function<bool(const analysis::MergedCalls::Node&)>& wanted);
  // Expands a row and all below it. Stops at a number of rows that is too large to read.
  void open_all();
  void close_all();

 private:
  std::vector<std::uint32_t> children(std::uint32_t id) const;  // largest first
  void make_rows();
  analysis::MergedCalls calls_;
  std::vector<char> open_;
  std::vector<Row> rows_;
};

}  // namespace fathom::tui
