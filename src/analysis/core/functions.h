// Tables over the nodes of a call tree: what each function cost by itself and with what it called, and who
// called it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/interval.h"
#include "base/result.h"

namespace fathom::analysis {

enum class SortBy : std::uint8_t { kSelf, kTotal };

// One function of one module. Recursion counts once: `total` is the weight of the samples that have it
// anywhere.
struct FunctionRow {
  std::uint32_t name = 0;           // row of CallTree::names
  std::uint32_t module = 0;         // row of CallTree::modules
  NodeKind kind = NodeKind::kUser;  // kInlined if it was inlined everywhere
  std::int64_t self = 0;
  std::int64_t total = 0;
};

// All functions, the largest first; equal ones by name. Costs one visit per node.
std::vector<FunctionRow> function_table(const CallTree& tree, SortBy sort);

// value / tree.total, 0 for an empty tree.
double share(const CallTree& tree, std::int64_t value);
Interval share_interval(const CallTree& tree, std::int64_t value);
// The error is more than half of the value: its place in a table is chance.
bool is_noise(const CallTree& tree, std::int64_t value);

// "[libc.so.6+0x1234]", "[unknown]", "redis-server@0x13bf40": a place without a name.
bool is_unnamed(std::string_view name);

struct NeighbourRow {
  std::uint32_t name = 0;
  std::uint32_t module = 0;
  NodeKind kind = NodeKind::kUser;
  std::int64_t value = 0;
};

// Around one function: sum of callers = total, sum of callees + self = total. Under recursion the callers are
// those of the outermost call and the callees those of the innermost, so that nothing is counted twice.
struct Neighbours {
  std::vector<std::string>
      matched;  // names; several for a regular expression, and where a short name fits several
  std::int64_t self = 0;
  std::int64_t total = 0;
  std::vector<NeighbourRow> callers;  // largest first
  std::vector<NeighbourRow> callees;
};

// By row of the tree's names: 1 for those that a pattern of find_neighbours matches, with its errors.
// Several, if views print different names alike: a user who copied the text may mean any of them.
Result<std::vector<char>> matching_names(const CallTree& tree, const std::string& pattern);

// `pattern` is a name, a part of exactly one name, or a POSIX extended regular expression between slashes,
// whose matches are taken as one. kNotFound without a match; kUsage with the candidates when a part fits
// several names.
Result<Neighbours> find_neighbours(const CallTree& tree, const std::string& pattern);

}  // namespace fathom::analysis
