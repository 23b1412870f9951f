// What a user may say about a picture, and the words for both sides of a comparison.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "analysis/core/words.h"
#include "base/parse.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::present {

using analysis::percent;

Result<MinWidth> min_width_from(std::string_view text) {
  MinWidth result;
  std::string_view digits = text;
  if (digits.ends_with('%')) {
    result.percent = true;
    digits.remove_suffix(1);
  } else if (digits.ends_with("px")) {
    digits.remove_suffix(2);
  }
  const auto value = parse_number<double>(digits);
  if (!value || !std::isfinite(*value) || *value < 0 || (result.percent && *value > 100)) {
    return fail(ErrorKind::kUsage, "\"" + clean_text(text) + "\" is not a width",
                "--min-width 0.5 (pixels) or 0.1%");
  }
  result.value = *value;
  return result;
}

Result<std::string> background_from(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNamed = {{{"yellow", "#fbf7d4"},
                                                                                    {"blue", "#e3ecf8"},
                                                                                    {"green", "#e4f4e1"},
                                                                                    {"grey", "#ededed"},
                                                                                    {"gray", "#ededed"}}};
  for (const auto& [name, color] : kNamed) {
    if (name == text) return std::string(color);
  }
  const bool hex = text.size() == 7 && text[0] == '#' &&
                   text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string_view::npos;
  if (hex) return std::string(text);
  return fail(ErrorKind::kUsage, "no background is called \"" + clean_text(text) + "\"",
              "--bg-colors with yellow, blue, green, grey or #rrggbb");
}

std::string compared(const FlameComparison& comparison, std::int64_t base, std::int64_t fresh) {
  const double before = static_cast<double>(base) * comparison.scale;
  const double after = static_cast<double>(fresh) * comparison.scale;
  const auto text = [&](double value) {
    return comparison.percent ? percent(value) : analysis::amount(value, comparison.unit);
  };
  std::string change = after == before ? "no change"
                       : before == 0   ? "new"
                       : after == 0    ? "gone"
                                       : (after > before ? "+" : "") + percent((after - before) / before);
  return "base " + text(before) + ", new " + text(after) + ": " + change;
}

}  // namespace fathom::present
