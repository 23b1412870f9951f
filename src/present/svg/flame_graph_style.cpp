#include "present/svg/flame_graph_style.h"

#include <algorithm>

#include "present/svg/svg_text.h"

namespace fathom::present {

// A font's name goes into CSS: letters, digits, blanks, commas, hyphens.
static std::string frame_font(const FlameGraphOptions& options) {
  std::string name;
  for (const char c : options.font) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == ' ' || c == ',' || c == '-';
    if (plain) name += c;
  }
  return (name.empty() ? "" : name + ",") +
         "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace";
}

std::string flame_graph_style(const Coloring& coloring, const FlameGraphOptions& options) {
  std::string css =
      ".fathom{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}.fathom{background:#fff}.fathom text{fill:#1b1f24}.fathom .bg{fill:#fff}.fathom .muted{fill:#5a6472}.fathom .warn{fill:#9a3412}.fathom .title{font-size:17px;font-weight:600}.fathom .f text{fill:#14171b;pointer-events:none;white-space:pre;font:" +
      number(options.font_size) + "px " + frame_font(options) +
      "}.fathom .z{stroke:#b0b5bc;stroke-dasharray:2 1}.fathom .hb{stroke:#f4f4f4}.fathom .hl{stroke:#c3c8d0}";
  std::string dark =
      ".fathom{background:#15181c}.fathom text{fill:#e6e9ed}.fathom .bg{fill:#15181c}.fathom .muted{fill:#9aa4b2}.fathom .warn{fill:#fdba74}.fathom .z{stroke:#6a717b}.fathom .hb{stroke:#3a3d42}.fathom .hl{stroke:#5b5f66}";
  const bool bright = !coloring.classes.empty() && coloring.classes.front().dark_text_in_dark;
  if (!bright) dark += ".fathom .f text{fill:#f4f5f7}";
  for (const ColorClass& color : coloring.classes) {
    if (color.hatched) {
      css += ".fathom ." + color.name + "{stroke:url(#fathom-hatch)}";
      continue;
    }
    if (color.striped) {
      css += ".fathom ." + color.name + "{stroke:url(#fathom-" + color.name + ")}.fathom ." + color.name +
             "b{stroke:" + to_string(color.light) + "}";
      if (color.dark != color.light)
        dark += ".fathom ." + color.name + "b{stroke:" + to_string(color.dark) + "}";
      continue;
    }
    css += ".fathom ." + color.name + "{stroke:" + to_string(color.light) + "}";
    if (color.dark != color.light)
      dark += ".fathom ." + color.name + "{stroke:" + to_string(color.dark) + "}";
  }
  // The reader's choice of a background is meant for the colours of the light scheme.
  if (!options.background.empty())
    return css + ".fathom{background:" + options.background + "}.fathom .bg{fill:" + options.background + "}";
  return css + "@media(prefers-color-scheme:dark){" + dark + "}";
}

// Frames without a name are hatched: greys alone are hard to distinguish. For strokes a pattern needs user
// space.
std::string flame_graph_patterns(const Coloring& coloring) {
  const bool used = std::any_of(coloring.classes.begin(), coloring.classes.end(),
                                [](const ColorClass& color) { return color.hatched; });
  std::string stripes;
  for (const ColorClass& color : coloring.classes) {
    if (!color.striped) continue;
    stripes +=
        "<pattern id=\"fathom-" + color.name +
        "\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"" +
        color.name +
        "b\" stroke-width=\"7\" d=\"M0 3.5h7\"/><path stroke=\"#fff\" stroke-opacity=\".55\" stroke-width=\"3\" d=\"M0 0v7\"/></pattern>\n";
  }
  if (!stripes.empty()) return stripes;
  return used
             ? "<pattern id=\"fathom-hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"hb\" stroke-width=\"5\" d=\"M0 2.5h5\"/><path class=\"hl\" stroke-width=\"2\" d=\"M0 0v5\"/></pattern>\n"
             : "";
}

}  // namespace fathom::present
