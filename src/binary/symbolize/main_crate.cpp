#include "binary/symbolize/main_crate.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace fathom::symbolize {
namespace {

constexpr std::size_t kHashDigits = 16;

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool is_word(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
         each == '_';
}

// A length and that many letters: "7my_node". "" if that is not what stands there, or if it is no name in ASCII. `separator`: what
// stands between them if the name begins with a digit or with "_".
std::string_view take_name(std::string_view& text, std::string_view separator) {
  std::size_t length = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
  if (read.ec != std::errc{} || length == 0) return {};
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (!separator.empty()) take(text, separator);
  if (length > text.size()) return {};
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  return std::ranges::all_of(name, is_word) ? name : std::string_view();
}

// What a compiler adds to one of several copies: ".llvm.123".
bool is_end(std::string_view rest) {
  return rest.empty() || rest[0] == '.';
}

std::string_view of_legacy(std::string_view text) {
  const std::string_view crate = take_name(text, "");
  if (crate.empty() || !take(text, "4main17h") || text.size() <= kHashDigits) return {};
  text.remove_prefix(kHashDigits);
  return take(text, "E") && is_end(text) ? crate : std::string_view();
}

std::string_view of_v0(std::string_view text) {
  if (take(text, "s")) {  // distinguishes crates of one name
    const std::size_t end = text.find('_');
    if (end == text.npos || !std::ranges::all_of(text.substr(0, end), is_word)) return {};
    text.remove_prefix(end + 1);
  }
  const std::string_view crate = take_name(text, "_");
  return !crate.empty() && take(text, "4main") && is_end(text) ? crate : std::string_view();
}

}  // namespace

std::string_view main_crate_of(std::string_view mangled) {
  if (take(mangled, "_ZN")) return of_legacy(mangled);
  return take(mangled, "_RNvC") ? of_v0(mangled) : std::string_view();
}

}  // namespace fathom::symbolize
