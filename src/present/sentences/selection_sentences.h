// What a selection leaves out, in sentences of one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/summary/report.h"

namespace fathom::present {

// "The selection leaves out 700 samples. Stacks with parse, without malloc: 23 % of 900 samples."; empty where nothing
// is left out. `whole`: the tree's total if all stacks were taken.
std::string sentence_of_selection(const analysis::Selection& selection, const analysis::CallTree& tree,
                                  std::optional<std::int64_t> whole);

}  // namespace fathom::present
