// Call tree -> flame graph: one SVG that needs nothing but itself. Without JavaScript it is a complete
// picture; with it, it can be zoomed, searched and walked by keyboard. The same tree and options give the
// same bytes. Names may be any bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/call_tree.h"
#include "base/result.h"
#include "present/svg/flame_graph_colors.h"

namespace fathom::present {

// The narrowest frame that is drawn by itself.
struct MinWidth {
  double value = 0.5;
  bool percent = false;  // of the total; otherwise pixels
};
Result<MinWidth> min_width_from(std::string_view text);  // "0.5", "0.5px", "0.1%"

// "yellow", "blue", "green", "grey" or "#rrggbb": a background for the light and the dark scheme alike.
Result<std::string> background_from(std::string_view text);  // as CSS

// What each frame is worth by itself on both sides of a comparison, by node of the tree, whose own values are widths only.
struct FlameComparison {
  std::vector<std::int64_t> base, fresh;
  double scale = 1;      // times a value: a figure to be shown
  bool percent = false;  // as per cent, 1 being a hundred of them; else in `unit`
  std::string unit;      // "ns", "bytes", "samples"
};

struct FlameGraphOptions {
  std::string title;     // "": named by the metric
  std::string subtitle;  // "": how much was measured
  std::string root_name = "all";
  std::vector<std::string> warnings;  // shown above the frames
  std::vector<std::string> notes;     // shown below the legend
  std::optional<double> width;        // pixels; none: 1200, and as wide as the window where the script runs
  double frame_height = 17;
  double font_size = 11.5;
  std::string font;  // of the frames; "": the reader's font of fixed width
  Palette colors = Palette::kModule;
  bool inverted = false;  // the root on top ("icicle")
  bool reverse = false;   // the tree was merged from the leaves: callers stand on callees
  MinWidth min_width;
  std::string count_name;                 // instead of the tree's unit
  std::string name_type = "Function";     // what a frame is called in its details
  std::string background;                 // CSS; "": white, or nearly black where the reader prefers dark
  std::optional<Coloring> coloring = {};  // of this tree, instead of `colors`
  std::optional<FlameComparison> comparison = {};  // details and tooltips show both sides
  std::vector<std::string> wakers =
      {};  // by node: who ended the waits below it, in words; "": unknown. May be empty.
  // "slow.cpp:24" of a function, by its module and its name, for the details of a frame; "": unknown. May be empty.
  std::function<std::string(std::string_view module, std::string_view name)> place_of = {};
  // Of the file. Beyond it the smallest frames are left out and counted: a browser parses this much in a second.
  std::size_t max_bytes = std::size_t{8} << 20;
};

// "base 11.0 %, new 16.2 %: +47.3 %", of a frame with all that it calls.
std::string compared(const FlameComparison& comparison, std::int64_t base, std::int64_t fresh);

// An empty tree gives a picture with a message.
std::string flame_graph_svg(const analysis::CallTree& tree, const FlameGraphOptions& options);

}  // namespace fathom::present
