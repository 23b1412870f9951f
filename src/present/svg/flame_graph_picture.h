// The picture of a whole tree, however large the file becomes. flame_graph_svg() keeps it within its bound.
#pragma once

#include <string>

#include "analysis/core/call_tree.h"
#include "present/svg/flame_graph.h"

namespace fathom::present {

std::string draw_flame_graph(const analysis::CallTree& tree, const FlameGraphOptions& options);

}  // namespace fathom::present
