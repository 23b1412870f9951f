// The style sheet of a flame graph, with its dark scheme, and the patterns that its colours refer to.
#pragma once

#include <string>

#include "present/svg/flame_graph.h"

namespace fathom::present {

std::string flame_graph_style(const Coloring& coloring, const FlameGraphOptions& options);
// <pattern> elements; "" if no colour needs one.
std::string flame_graph_patterns(const Coloring& coloring);

}  // namespace fathom::present
