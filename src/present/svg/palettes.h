// One function for each way to colour a tree; color_tree() chooses. As there: flame_graph_colors.h.
#pragma once

#include "analysis/core/call_tree.h"
#include "present/svg/flame_graph_colors.h"

namespace fathom::present {

// By whose code it is: crate, namespace or file, and the kernel, the runtime, the allocator.
Coloring color_by_owner(const analysis::CallTree& tree, bool reverse);
// By where most of a frame's time goes: on a CPU, or to one kind of waits.
Coloring color_by_time(const analysis::CallTree& tree, bool reverse);
// By the kind of code, as agents and perf maps name it.
Coloring color_by_kind(const analysis::CallTree& tree, Palette palette, bool reverse);
// Without a meaning.
Coloring color_classic(const analysis::CallTree& tree, Palette palette, bool reverse);

}  // namespace fathom::present
