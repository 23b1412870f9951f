// The flat table as perf report has it: what each function cost by itself and with what it called, in which thread and module.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::tui {

enum class FlatBy : std::uint8_t { kFunction, kThreadAndFunction, kModule, kThread };
enum class FlatSort : std::uint8_t { kSelf, kTotal, kName };

struct FlatRow {
  std::uint32_t thread = 0;  // row of CallTree::names; 0 if rows are not distinguished by it
  std::uint32_t name = 0;    // likewise
  std::uint32_t module = 0;  // row of CallTree::modules
  analysis::NodeKind kind = analysis::NodeKind::kUser;
  std::int64_t self = 0, total = 0;
};

// Of a tree with threads as its first frames. Recursion counts once. One visit per node.
std::vector<FlatRow> flat_rows(const analysis::CallTree& tree, FlatBy by, FlatSort sort);

}  // namespace fathom::tui
