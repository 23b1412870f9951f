// Where each frame of a call tree goes: rows and pixels. Frames too narrow to see are not dropped but joined,
// one box per parent, and counted. The script (web/svg) has the same rule for what is zoomed into.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::present {

struct FlameBox {
  std::uint32_t node = 0;    // the frame, or the parent of the frames that are joined here
  std::uint32_t hidden = 0;  // how many frames are joined here; 0 for a frame of its own
  std::uint32_t row = 0;     // 0 is the root's
  double x = 0;              // from the left edge of the root
  double width = 0;
  std::int64_t value = 0;  // total
};

struct FlameLayout {
  std::vector<FlameBox> boxes;  // by node, parents first; joined frames stand behind their parent
  std::uint32_t rows = 0;
  std::uint64_t hidden_frames = 0;  // joined
  std::uint64_t hidden_boxes = 0;   // into so many
  std::int64_t hidden_value = 0;    // that cover so much; nothing stands above a joined box, so these add up
};

// The root is `width` wide; a frame that would get less than `min_width` is joined with its likes.
FlameLayout lay_out(const analysis::CallTree& tree, double width, double min_width);

}  // namespace fathom::present
