// What a call tree is made of: the selected samples, waits and sites of the heap, added up by the stack on which they are.
// For this folder and for comparisons, which make one tree of several recordings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

// The selected samples and waits, added up per (root, stack, cause).
struct StackSums {
  struct Row {
    std::uint32_t root;
    std::uint32_t stack;
    std::int64_t value;
    std::uint32_t skip = 0;  // lines of the leaf frame, innermost first, that are left out
    std::uint8_t cause = 0;  // row of causes; 0: it ran
  };
  std::vector<Row> rows;  // sorted by root, stack and cause
  std::vector<std::string> root_names;
  std::vector<std::string> causes{""};  // names of frames
};

// Of the metric and unit of `tree`; sets the tree's facts about the selection: how much was selected, left
// out, left to the tracer and to idle waits, and how many unweighted samples would be as exact.
StackSums add_up_stacks(const model::Profile& profile, const TreeOptions& options, CallTree& tree);

// Of what is called for real; `named`: the function has a name of its own.
NodeKind kind_of_code(const model::Profile& profile, model::ModuleId module, bool named);

}  // namespace fathom::analysis
