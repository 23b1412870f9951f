// Call trees for a terminal: a call a line, indented below its caller.
#pragma once

#include <string>

#include "present/text/text_report.h"

namespace fathom::present {

// With a heading. Of the whole tree, top down or bottom up as the report was asked for.
std::string call_tree_text(const analysis::Report& report, const TextOptions& options);
// The chains of callers or callees of one function, without a heading.
std::string call_chains_text(const analysis::Report& report, const analysis::NeighboursOf& of,
                             const TextOptions& options, bool callers);

}  // namespace fathom::present
