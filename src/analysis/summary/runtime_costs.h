// What the machinery below all functions costs: exceptions, the garbage collector, the start of programs. A first sentence names the
// function that uses it, "parse_field accounts for 91 %, almost all of it in std::stoi", and does not show what is expensive about it.
// Pure; of a tree of CPU samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

struct RuntimeCost {
  std::string words;       // of common_costs.h: "throwing exceptions"
  std::int64_t value = 0;  // samples that have a function of this work, none of other work above it
};

// Those that take part, the largest first.
std::vector<RuntimeCost> find_runtime_costs(const CallTree& tree);

}  // namespace fathom::analysis
