// The whole call tree as text inside the picture, for the script: also the frames that are too narrow to
// draw, so that zooming shows them. Lines; the long ones are numbers in base 64, about three bytes per frame.
//
//   line 1    JSON: what the script needs to know about the drawing
//   line 2    symbols: name minus the name of the symbol before, row of modules, row of classes
//   line 3    nodes, depth first: flags + 8 * (levels to go up from the node before to reach the parent);
//             the symbol; the self value if flag 1 is set. Flag 2: inlined wherever it was seen. Flag 4: a
//             first child with the same symbol as the last first child below the parent's symbol; that symbol
//             is not written again
//   the rest  names, one per line: how many characters it shares with the name before, then the others
//   numbers   five bits per character of "A-Za-z0-9-_", least significant first; a character of 32 or more
//             is continued
#pragma once

#include <string>

#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_colors.h"

namespace fathom::present {

// Facts of the drawing that the script needs too.
struct FlameGeometry {
  double width = 0;      // of the picture
  double pad = 0;        // left and right of the frames
  double top = 0;        // of the first row
  double min_width = 0;  // of a frame of its own
  double column = 0;     // width of a character in a frame
  std::uint32_t rows = 0;
};

// Its values are what samples stood for, so shares have a sampling error: also CPU time, which some engines
// weigh in ns.
bool is_sampled(const analysis::CallTree& tree);

// Its values are multiples of what was counted, with insignificant digits: bytes and blocks of a sampled
// heap.
bool is_estimated(const analysis::CallTree& tree);

// Not yet escaped for XML.
std::string flame_graph_data(const analysis::CallTree& tree, const Coloring& coloring,
                             const FlameGeometry& geometry, const FlameGraphOptions& options);

}  // namespace fathom::present
