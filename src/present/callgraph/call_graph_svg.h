// A call graph as one SVG picture without a script, laid out by fathom itself. A box is a function: its letters are as large as
// what the function costs itself, its colour as strong as what it costs with all that it calls. An arrow is as wide as what goes
// through the calls, dashed where they lead through functions that are not shown. Pointing at a box or an arrow shows whole names.
#pragma once

#include <string>

#include "base/result.h"
#include "present/callgraph/call_graph.h"

namespace fathom::present {

// kUsage for a graph that is too large to be drawn or read: more than 1,000 functions or 5,000 calls.
Result<std::string> write_call_graph_svg(const CallGraph& graph);

}  // namespace fathom::present
