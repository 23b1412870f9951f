// A comparison as a flame graph: every stack that either side has, so what is gone is seen as well as what is new. Width is
// what the frame is worth in base, in new, or in both together; colour says how it changed, from blue (less) to orange (more),
// and is grey where the change is no more than noise; stripes mark frames that changed by themselves and not only through what
// they call. Keys and search are those of every flame graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/diff/diff.h"
#include "present/svg/flame_graph.h"

namespace fathom::present {

enum class DiffWidth : std::uint8_t { kBoth, kBase, kNew };
std::optional<DiffWidth> diff_width_from(std::string_view name);  // "both", "base", "new"

// `options`: of size and texts; colours, root, legend and notes are the comparison's.
std::string diff_flame_graph_svg(const analysis::DiffReport& report, DiffWidth width,
                                 FlameGraphOptions options);

}  // namespace fathom::present
