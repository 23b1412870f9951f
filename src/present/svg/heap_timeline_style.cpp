#include "present/svg/heap_timeline_style.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace fathom::present {
namespace {

using analysis::TimelineKind;

// Hues that people with any kind of colour blindness can distinguish (Okabe and Ito, 2008), in an order in
// which neighbours differ in brightness, too.
constexpr std::array<std::string_view, 8> kBands = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                    "#56b4e9", "#d55e00", "#f0e442", "#8c6bb1"};
constexpr std::array<bool, 8> kLightText = {true, false, true, false, false, true, false, true};

// Dashes of the lines, by their place.
constexpr std::array<std::string_view, 6> kDashes = {"", "8 4", "2 3", "9 3 2 3", "5 3", "1 4"};

}  // namespace

std::string timeline_band_class(const analysis::HeapTimeline& timeline, std::size_t group) {
  switch (timeline.groups[group].kind) {
    case TimelineKind::kNamed:
      return "b" + std::to_string(group % kBands.size());
    case TimelineKind::kOthers:
      return "others";
    case TimelineKind::kPassing:
      return "passing";
    case TimelineKind::kMapped:
      return "mapped";
  }
  return "others";
}

std::string timeline_line_class(std::size_t line) {
  return "k" + std::to_string(line % kDashes.size());
}

bool has_light_text(const analysis::HeapTimeline& timeline, std::size_t group) {
  return timeline.groups[group].kind == TimelineKind::kNamed && kLightText[group % kBands.size()];
}

std::string timeline_style() {
  std::string css =
      ".fathom{background:#fff;font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}.fathom text{fill:#1b1f24;white-space:pre}.fathom .bg{fill:#fff}.fathom .muted{fill:#5a6472}.fathom .title{font-size:17px;font-weight:600}.fathom .strong{font-weight:600}.fathom .end{text-anchor:end}.fathom .middle,.fathom .inside{text-anchor:middle}.fathom .inside{font-weight:600;pointer-events:none}.fathom .onDark{fill:#fff}.fathom .onLight{fill:#14171b}.fathom .grid{stroke:#1b1f24;stroke-opacity:.13;fill:none;pointer-events:none}.fathom .axis{stroke:#5a6472;fill:none}.fathom .band{stroke:#fff;stroke-width:.7}.fathom .s{stroke-width:12}.fathom .line,.fathom .halo{fill:none;stroke-width:1.8;stroke-linejoin:round;pointer-events:none}.fathom .line{stroke:#1b1f24}.fathom .halo{stroke:#fff;stroke-width:4;stroke-opacity:.65}.fathom .outage{fill:#8b949e;fill-opacity:.45;stroke:#57606a;stroke-dasharray:2 3}.fathom .moment{stroke:#1b1f24;stroke-width:1.5;fill:none}.fathom .mark{stroke:#1b1f24;stroke-dasharray:3 3;stroke-opacity:.75;fill:none;pointer-events:none}.fathom .dot{fill:#1b1f24;stroke:#fff;stroke-width:1.5;pointer-events:none}.fathom .flag,.fathom .box{fill:#fff;fill-opacity:.94;stroke:#b0b5bc;pointer-events:none}.fathom .panel,.fathom .panel text{pointer-events:none}.fathom .cursor{stroke:#1b1f24;fill:none;pointer-events:none}.fathom .others{fill:#b0b5bc}.fathom .s.others{stroke:#b0b5bc}.fathom .mapped{fill:#7d8ea3}.fathom .s.mapped{stroke:#7d8ea3}.fathom .passing{fill:#e4e7eb}.fathom .s.passing{stroke:#e4e7eb}.fathom .item{cursor:default}.fathom.dim .band{opacity:.18}.fathom.dim .lit{opacity:1}";
  for (std::size_t i = 0; i < kBands.size(); ++i)
    css += fmt::format(".fathom .b{0}{{fill:{1}}}.fathom .s.b{0}{{stroke:{1}}}", i, kBands[i]);
  for (std::size_t i = 1; i < kDashes.size(); ++i)
    css += fmt::format(".fathom .k{}{{stroke-dasharray:{}}}", i, kDashes[i]);
  return css +
         ".fathom .l{stroke-width:1.8;stroke:#1b1f24;fill:none}@media(prefers-color-scheme:dark){.fathom{background:#15181c}.fathom text{fill:#e6e9ed}.fathom .bg{fill:#15181c}.fathom .muted{fill:#9aa4b2}.fathom .onDark{fill:#fff}.fathom .onLight{fill:#14171b}.fathom .grid{stroke:#e6e9ed}.fathom .axis{stroke:#9aa4b2}.fathom .band{stroke:#15181c}.fathom .line,.fathom .l,.fathom .cursor,.fathom .mark,.fathom .moment{stroke:#f4f5f7}.fathom .halo{stroke:#15181c}.fathom .dot{fill:#f4f5f7;stroke:#15181c}.fathom .flag,.fathom .box{fill:#1f2429;stroke:#565c64}.fathom .others{fill:#6b727b}.fathom .s.others{stroke:#6b727b}.fathom .passing{fill:#363c43}.fathom .s.passing{stroke:#363c43}.fathom .mapped{fill:#66788f}.fathom .s.mapped{stroke:#66788f}}";
}

}  // namespace fathom::present
