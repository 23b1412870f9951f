// What colour a frame has, and what that means. In the palette "module" a colour is an owner: the kernel, the
// allocator, the language's runtime and generated code have hues of their own, everything else goes by its
// crate (Rust), its namespace (C++) or its file. The other palettes are those that users of flame graphs know
// by name. Colours follow from names alone: the same profile looks the same on every machine and in every
// run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/code_owner.h"
#include "base/result.h"

namespace fathom::present {

using analysis::namespace_of;
using analysis::Owner;
using analysis::owner_of;

enum class Palette : std::uint8_t {
  kModule,
  kWall,  // by where time goes: on a CPU, the run queue, kinds of waits; what --metric wall and off-cpu take by themselves
  kHot,
  kMem,
  kIo,
  kWakeup,
  kChain,
  kJava,
  kJs,
  kPerl,
  kRed,
  kGreen,
  kBlue,
  kAqua,
  kYellow,
  kPurple,
  kOrange,
};
Result<Palette> palette_from(std::string_view name);  // an unknown name is refused with the list of all
std::string_view to_string(Palette palette);
std::string palette_names();  // "module, hot, mem, ..."

struct Color {
  std::uint8_t red, green, blue;
  auto operator<=>(const Color&) const = default;
};
std::string to_string(Color color);  // "#e1924b"

// One CSS class of frames.
struct ColorClass {
  std::string name;                // short, a letter and a digit
  Color light, dark;               // the fill in the light and in the dark scheme
  bool dark_text_in_dark = false;  // the classic palettes keep their bright colours in the dark scheme
  bool hatched = false;            // on these colours
  bool striped = false;            // its fill with bright stripes
};

struct LegendItem {
  std::string label;
  std::vector<std::uint16_t> classes;  // rows of Coloring::classes; the first one is shown
  double self_share = -1;              // of all, of what ran in such frames; below 0: not said
};

struct Coloring {
  std::vector<ColorClass> classes;
  std::vector<std::uint16_t> of_node;  // per node of the tree: row of classes
  std::vector<LegendItem> legend;      // only what is in the picture
  std::string meaning;                 // a sentence: what a colour says
};

// `reverse`: the tree was merged from the leaves, so what ran stands next to the root.
Coloring color_tree(const analysis::CallTree& tree, Palette palette, bool reverse);

}  // namespace fathom::present
