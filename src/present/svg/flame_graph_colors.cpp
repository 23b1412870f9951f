#include "present/svg/flame_graph_colors.h"

#include <fmt/format.h>

#include <array>

#include "present/svg/flame_graph_text.h"
#include "present/svg/palettes.h"

namespace fathom::present {
namespace {

struct NamedPalette {
  std::string_view name;
  Palette palette;
};
constexpr std::array<NamedPalette, 17> kPalettes = {{{"module", Palette::kModule},
                                                     {"wall", Palette::kWall},
                                                     {"hot", Palette::kHot},
                                                     {"mem", Palette::kMem},
                                                     {"io", Palette::kIo},
                                                     {"wakeup", Palette::kWakeup},
                                                     {"chain", Palette::kChain},
                                                     {"java", Palette::kJava},
                                                     {"js", Palette::kJs},
                                                     {"perl", Palette::kPerl},
                                                     {"red", Palette::kRed},
                                                     {"green", Palette::kGreen},
                                                     {"blue", Palette::kBlue},
                                                     {"aqua", Palette::kAqua},
                                                     {"yellow", Palette::kYellow},
                                                     {"purple", Palette::kPurple},
                                                     {"orange", Palette::kOrange}}};

}  // namespace

Result<Palette> palette_from(std::string_view name) {
  for (const NamedPalette& known : kPalettes) {
    if (known.name == name) return known.palette;
  }
  return fail(ErrorKind::kUsage, "no palette is called \"" + clean_text(name) + "\"",
              "--colors with one of: " + palette_names());
}

std::string_view to_string(Palette palette) {
  for (const NamedPalette& known : kPalettes) {
    if (known.palette == palette) return known.name;
  }
  return "";
}

std::string palette_names() {
  std::string names;
  for (const NamedPalette& known : kPalettes) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::string to_string(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

Coloring color_tree(const analysis::CallTree& tree, Palette palette, bool reverse) {
  switch (palette) {
    case Palette::kModule:
      return color_by_owner(tree, reverse);
    case Palette::kWall:
      return color_by_time(tree, reverse);
    case Palette::kChain:
    case Palette::kJava:
    case Palette::kJs:
    case Palette::kPerl:
      return color_by_kind(tree, palette, reverse);
    default:
      return color_classic(tree, palette, reverse);
  }
}

}  // namespace fathom::present
