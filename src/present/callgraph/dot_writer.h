// A call graph in the language of graphviz.
#pragma once

#include <string>

#include "present/callgraph/call_graph.h"

namespace fathom::present {

std::string write_dot(const CallGraph& graph);

}  // namespace fathom::present
