#include <string>

#include "present/svg/painter.h"
#include "present/svg/palettes.h"

namespace fathom::present {

using analysis::CallTree;
using analysis::NodeKind;
using analysis::TreeNode;

namespace {

// The classic palettes. The ranges are those that users know from flamegraph.pl; here each has sixteen fixed
// steps.
Color classic_color(Palette palette, double a, double b) {
  const auto color = [](double red, double green, double blue) {
    return Color{static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
                 static_cast<std::uint8_t>(blue)};
  };
  switch (palette) {
    case Palette::kMem:
      return color(0, 190 + 50 * b, 210 * a);
    case Palette::kIo:
      return color(80 + 60 * a, 80 + 60 * a, 190 + 55 * b);
    case Palette::kRed:
      return color(200 + 55 * a, 50 + 80 * b, 50 + 80 * b);
    case Palette::kGreen:
      return color(50 + 60 * b, 200 + 55 * a, 50 + 60 * b);
    case Palette::kBlue:
    case Palette::kChain:
      return color(80 + 60 * b, 80 + 60 * b, 205 + 50 * a);
    case Palette::kAqua:
    case Palette::kWakeup:
      return color(50 + 60 * b, 165 + 55 * a, 165 + 55 * a);
    case Palette::kYellow:
      return color(175 + 55 * a, 175 + 55 * a, 50 + 20 * b);
    case Palette::kPurple:
      return color(190 + 65 * a, 80 + 60 * b, 190 + 65 * a);
    case Palette::kOrange:
      return color(190 + 65 * a, 90 + 65 * b, 0);
    default:
      return color(205 + 50 * b, 230 * a, 55 * b);
  }
}

std::size_t add_classic(Painter& painter, Palette palette, char letter, const std::string& label) {
  return painter.family(label, [&](std::vector<ColorClass>& classes) {
    for (int i = 0; i < 16; ++i) {
      const Color color = classic_color(palette, (i % 4) / 3.0, (i / 4) / 3.0);
      classes.push_back({std::string(1, letter) + std::to_string(i), color, color, true});
    }
  });
}

}  // namespace

Coloring color_classic(const CallTree& tree, Palette palette, bool reverse) {
  Painter painter(tree, reverse);
  const std::size_t flat = add_classic(painter, palette, 'p', "");
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) painter.paint(i, flat, tree.name(tree.nodes[i]));
  return painter.finish(
      "Colour (" + std::string(to_string(palette)) + "): no meaning; it follows from the function's name.",
      false);
}

Coloring color_by_kind(const CallTree& tree, Palette palette, bool reverse) {
  Painter painter(tree, reverse);
  const bool chain = palette == Palette::kChain;
  const std::size_t generated =
      add_classic(painter, Palette::kGreen, 'j', palette == Palette::kPerl ? "Perl" : "JIT code");
  const std::size_t inlined = add_classic(painter, Palette::kAqua, 'i',
                                          chain                     ? "waker"
                                          : palette == Palette::kJs ? "builtin"
                                                                    : "inlined");
  const std::size_t cpp = add_classic(painter, Palette::kYellow, 'c', "C++ or Rust");
  const std::size_t kernel = add_classic(painter, Palette::kOrange, 'k', "kernel");
  const std::size_t waiting = add_classic(painter, Palette::kBlue, 'b', "waits");
  const std::size_t system = add_classic(painter, Palette::kRed, 's', "other user code");
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    const std::string_view name = tree.name(node);
    const Owner owner = owner_of(node, name, tree.modules[node.module]);
    const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    std::size_t family = system;
    if (chain) {
      family = name.ends_with("_[w]") ? inlined : waiting;
    } else if (owner == Owner::kKernel || name.ends_with("_[k]")) {
      family = kernel;
    } else if (palette == Palette::kJs && (name.starts_with("Builtin:") || name.starts_with("Builtins_"))) {
      family = inlined;
    } else if (palette == Palette::kPerl ? has("Perl") || has(".pl")
                                         : owner == Owner::kGenerated || name.ends_with("_[j]")) {
      family = generated;
    } else if (palette != Palette::kJs && (node.kind == NodeKind::kInlined || name.ends_with("_[i]"))) {
      family = inlined;
    } else if (has("::")) {
      family = cpp;
    }
    painter.paint(i, family, name);
  }
  return painter.finish("Colour (" + std::string(to_string(palette)) +
                            "): the kind of code. Shades only tell neighbours apart.",
                        true);
}

}  // namespace fathom::present
