#include "binary/symbolize/haskell_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace fathom::symbolize {
namespace {

constexpr std::array<std::string_view, 7> kCodeEndings{"_con_info", "_static_info", "_info", "_entry",
                                                       "_slow",     "_fast",        "_ret"};
constexpr std::size_t kLongestHaskell = 2048;

constexpr std::pair<char, char> kSmall[] = {{'a', '&'}, {'b', '|'}, {'c', '^'},  {'d', '$'},  {'e', '='},
                                            {'g', '>'}, {'h', '#'}, {'i', '.'},  {'l', '<'},  {'m', '-'},
                                            {'n', '!'}, {'p', '+'}, {'q', '\''}, {'r', '\\'}, {'s', '/'},
                                            {'t', '*'}, {'u', '_'}, {'v', '%'},  {'z', 'z'}};
constexpr std::pair<char, char> kLarge[] = {{'C', ':'}, {'L', '('}, {'R', ')'},
                                            {'M', '['}, {'N', ']'}, {'Z', 'Z'}};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_number(char c) {
  return c >= '0' && c <= '9';
}
bool is_in_identifier(char c) {
  return is_lower(c) || is_upper(c) || is_number(c) || c == '_' || c == '\'' || c == '#' || c == '$' ||
         c == ':';
}

struct Decoded {
  std::string text;
  bool escaped = false;  // it had a sequence of two characters
};

// "Z3T" is (,,) and "Z2H" (#,#).
std::optional<std::string> decode_tuple(std::string_view& rest) {
  std::size_t digits = 0, count = 0;
  while (digits < rest.size() && digits < 3 && is_number(rest[digits]))
    count = count * 10 + static_cast<std::size_t>(rest[digits++] - '0');
  if (digits == 0 || digits == rest.size() || (rest[digits] != 'T' && rest[digits] != 'H'))
    return std::nullopt;
  const std::string_view mark = rest[digits] == 'H' ? "#" : "";
  rest.remove_prefix(digits + 1);
  return fmt::format("({}{}{})", mark, std::string(count == 0 ? 0 : count - 1, ','), mark);
}

// "z7eU" is the character of that number; begins behind the z. Of ASCII only: others may have no sign in a terminal.
std::optional<char> decode_number(std::string_view& rest) {
  const std::size_t end = rest.find('U');
  unsigned number = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + std::min(end, rest.size()), number, 16);
  if (end == rest.npos || read.ptr != rest.data() + end || number < 0x20 || number > 0x7e)
    return std::nullopt;
  rest.remove_prefix(end + 1);
  return static_cast<char>(number);
}

std::optional<Decoded> decode(std::string_view rest) {
  Decoded decoded;
  while (!rest.empty()) {
    const char first = rest.front();
    rest.remove_prefix(1);
    if (!is_lower(first) && !is_upper(first) && !is_number(first)) return std::nullopt;
    if (first != 'z' && first != 'Z') {
      decoded.text += first;
      continue;
    }
    if (rest.empty()) return std::nullopt;
    decoded.escaped = true;
    if (first == 'Z' && is_number(rest.front())) {
      const auto tuple = decode_tuple(rest);
      if (!tuple) return std::nullopt;
      decoded.text += *tuple;
      continue;
    }
    if (first == 'z' && is_number(rest.front())) {
      const auto character = decode_number(rest);
      if (!character) return std::nullopt;
      decoded.text += *character;
      continue;
    }
    const auto find_in = [&](const auto& table) -> std::optional<char> {
      for (const auto& [code, character] : table)
        if (code == rest.front()) return character;
      return std::nullopt;
    };
    const auto character = first == 'z' ? find_in(kSmall) : find_in(kLarge);
    if (!character) return std::nullopt;
    decoded.text += *character;
    rest.remove_prefix(1);
  }
  return decoded;
}

// "GHC.Base"
bool is_module(std::string_view text) {
  bool begins = true;
  for (const char c : text) {
    if (begins ? !is_upper(c) : c != '.' && !is_in_identifier(c)) return false;
    begins = c == '.';
  }
  return !text.empty() && !begins;
}

// An identifier or an operator, alone or after what a compiler puts in front of it: "go", "$wgo", "$c==", "(,)".
bool is_value(std::string_view text) {
  if (text.empty()) return false;
  // Instances have the names of types and methods, and types may be operators: "$fTraversable:+:_$ctraverse".
  if (std::string_view("([:$").find(text.front()) != text.npos) return true;
  if (std::ranges::all_of(text, is_in_identifier)) return true;
  return std::ranges::none_of(text, [](char c) {
    return is_in_identifier(c) && std::string_view("$#:").find(c) == std::string_view::npos;
  });
}

// What GHC adds to distinguish local functions of one name: "s1Kx".
bool is_unique(std::string_view text) {
  return text.size() >= 2 && text.size() <= 12 && is_lower(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || is_upper(c) || is_number(c); });
}

std::string_view without_code_ending(std::string_view name) {
  for (const std::string_view ending : kCodeEndings)
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return "";
}

}  // namespace

std::string haskell_name(std::string_view linker_name) {
  if (linker_name.size() > kLongestHaskell) return "";
  std::string_view rest = without_code_ending(linker_name);
  if (rest.empty()) return "";
  std::vector<std::string_view> parts;
  for (std::size_t at; (at = rest.find('_')) != rest.npos; rest.remove_prefix(at + 1))
    parts.push_back(rest.substr(0, at));
  parts.push_back(rest);
  if (parts.size() < 2 || parts.size() > 4) return "";
  // The module is the first or the second part; packages begin with a small letter.
  const bool has_package = !parts[0].empty() && !is_upper(parts[0].front());
  const std::size_t module_at = has_package ? 1 : 0;
  if (module_at + 2 > parts.size() || parts.size() > module_at + 3) return "";
  const auto module = decode(parts[module_at]), value = decode(parts[module_at + 1]);
  if (!module || !value || !is_module(module->text) || !is_value(value->text)) return "";
  if (has_package && !decode(parts[0])) return "";
  const bool is_local = parts.size() == module_at + 3;
  if (is_local && !is_unique(parts.back())) return "";
  // Without a sequence of two characters it may be C, unless it is the program's main module or GHC's base.
  const bool is_certain = module->escaped || value->escaped || module->text == "Main" ||
                          (has_package && (parts[0] == "base" || parts[0] == "main"));
  if (!is_certain) return "";
  return fmt::format("{}.{}{}", module->text, value->text,
                     is_local ? fmt::format(" ({})", parts.back()) : "");
}

}  // namespace fathom::symbolize
