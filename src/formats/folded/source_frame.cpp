#include "formats/folded/source_frame.h"

#include <algorithm>
#include <array>

#include "base/parse.h"

namespace fathom::formats {
namespace {

// Files of languages whose profilers write frames so. Other files are believed with a line only.
bool is_script(std::string_view file) {
  static constexpr std::array<std::string_view, 14> kEndings = {
      ".py", ".pyx", ".pyc", ".rb", ".php", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".pl", ".pm", ".lua", ".R"};
  return file.starts_with("<frozen ") || file.starts_with("<string>") || file.starts_with("node:") ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return file.ends_with(ending); });
}

// Cuts ":100" off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return std::nullopt;
  const auto number = parse_number<std::uint32_t>(text.substr(colon + 1));
  if (number) text = text.substr(0, colon);
  return number;
}

struct Place {
  std::string_view file;
  std::uint32_t line = 0;
};
// "FILE:LINE", "FILE:LINE:COLUMN", or a script's name.
std::optional<Place> place_of(std::string_view text) {
  Place place{text, 0};
  if (const auto last = take_number(place.file)) {
    place.line = *last;
    if (const auto line = take_number(place.file)) place.line = *line;
    // "operator()(a:1)", "f(std::vector)": a file has no "::" and no parameters.
    const bool is_file = place.file.find("::") == std::string_view::npos &&
                         place.file.find_first_of(",()*&") == std::string_view::npos;
    return is_file ? std::optional(place) : std::nullopt;
  }
  return is_script(text) ? std::optional(place) : std::nullopt;
}

std::optional<SourceFrame> in_parentheses(std::string_view frame) {
  if (!frame.ends_with(')')) return std::nullopt;
  const std::size_t open = frame.rfind(" (");
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  const auto place = place_of(frame.substr(open + 2, frame.size() - open - 3));
  if (!place) return std::nullopt;
  return SourceFrame{frame.substr(0, open), place->file, place->line};
}

std::optional<SourceFrame> after_dash(std::string_view frame) {
  constexpr std::string_view kDash = " - ";
  const std::size_t dash = frame.rfind(kDash);
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  std::string_view file = frame.substr(dash + kDash.size());
  const auto line = take_number(file);
  if (!line || file.empty()) return std::nullopt;
  return SourceFrame{frame.substr(0, dash), file, *line};
}

std::optional<SourceFrame> between_colons(std::string_view frame) {
  std::string_view rest = frame;
  const auto line = take_number(rest);
  if (!line) return std::nullopt;
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == rest.size() || !is_script(rest.substr(0, colon)))
    return std::nullopt;
  std::string_view function = rest;
  if (take_number(function)) return std::nullopt;  // a column
  return SourceFrame{rest.substr(colon + 1), rest.substr(0, colon), *line};
}

// A name has spaces, and so may a path: it begins at the first word that looks like one.
std::optional<SourceFrame> after_space(std::string_view frame) {
  for (const std::string_view start : {" /", " file://", " node:"}) {
    const std::size_t space = frame.find(start);
    if (space == std::string_view::npos || space == 0) continue;
    std::string_view text = frame.substr(space + 1);
    const auto place = place_of(text);
    if (take_number(text) && place && is_script(place->file))
      return SourceFrame{frame.substr(0, space), place->file, place->line};
  }
  return std::nullopt;
}

}  // namespace

std::optional<SourceFrame> source_frame(std::string_view frame) {
  if (const auto found = in_parentheses(frame)) return found;
  if (const auto found = after_dash(frame)) return found;
  if (const auto found = after_space(frame)) return found;
  return between_colons(frame);
}

}  // namespace fathom::formats
