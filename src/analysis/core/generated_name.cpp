#include "analysis/core/generated_name.h"

#include <algorithm>
#include <array>

#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

// "LazyCompile:", "JS:" and so on; how far it was optimised stands behind them: "*", "~", "^".
constexpr std::array<std::string_view, 6> kScripts = {
    "LazyCompile:", "JS:", "Function:", "Script:", "Eval:", "InterpretedFunction:"};
constexpr std::string_view kOptimised = "*~^+'`";
constexpr std::string_view kPython = "py::";

std::string_view base_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<GeneratedName> script(std::string_view name) {
  while (!name.empty() && kOptimised.find(name.front()) != std::string_view::npos) name.remove_prefix(1);
  const std::size_t column = name.rfind(':');
  const std::size_t line =
      column == std::string_view::npos || column == 0 ? column : name.rfind(':', column - 1);
  if (line == std::string_view::npos || !is_number(name.substr(column + 1)) ||
      !is_number(name.substr(line + 1, column - line - 1)))
    return std::nullopt;
  // A function has no blank in its name, and a path may have one: "get size /my app/x.js:1:2" is read as well as can be.
  std::size_t blank = name.find(" /");
  if (blank == std::string_view::npos) blank = name.find(" file://");
  if (blank == std::string_view::npos) blank = name.rfind(' ', line);
  if (blank == std::string_view::npos || blank > line) return std::nullopt;
  return GeneratedName{printable(name.substr(0, blank)),
                       printable(base_of(name.substr(blank + 1, column - blank - 1)))};
}

}  // namespace

std::optional<GeneratedName> generated_name(std::string_view name) {
  for (const std::string_view prefix : kScripts)
    if (name.starts_with(prefix)) return script(name.substr(prefix.size()));
  if (!name.starts_with(kPython)) return std::nullopt;
  name.remove_prefix(kPython.size());
  const std::size_t path = name.find(':');
  if (path == std::string_view::npos || path == 0) return std::nullopt;
  return GeneratedName{printable(name.substr(0, path)), printable(base_of(name.substr(path + 1)))};
}

}  // namespace fathom::analysis
