#include "analysis/diff/stable_name.h"

#include <array>
#include <cstddef>

#include "base/text.h"

namespace fathom::analysis {
namespace {

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The position after the digits that begin at `at`.
std::size_t behind_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Suffixes that compilers append to a symbol that they split, copied or made local. Some have a number after
// them.
constexpr std::array<std::string_view, 12> kSuffixes = {".llvm",  ".part",     ".cold", ".constprop",
                                                        ".isra",  ".lto_priv", ".lto",  ".localalias",
                                                        ".clone", ".resolver", ".warm", ".hot"};

// The length of such a suffix at the end of `name`, with its numbers; 0 without one.
std::size_t suffix_length(std::string_view name) {
  std::size_t end = name.size();
  for (;;) {  // ".12" and ".12.3", all of them
    std::size_t start = end;
    while (start > 0 && is_digit(name[start - 1])) --start;
    if (start == end || start == 0 || name[start - 1] != '.') break;
    end = start - 1;
  }
  for (const std::string_view suffix : kSuffixes) {
    // Something must remain: ".cold" alone is a name.
    if (end > suffix.size() && name.substr(0, end).ends_with(suffix))
      return name.size() - end + suffix.size();
  }
  return 0;
}

// "::h" and sixteen hexadecimal digits, which other tools' demanglers keep.
bool ends_in_rust_hash(std::string_view name) {
  constexpr std::size_t kLength = 19;
  if (name.size() <= kLength || name.substr(name.size() - kLength, 3) != "::h") return false;
  for (const char c : name.substr(name.size() - kLength + 3)) {
    if (!is_hex(c)) return false;
  }
  return true;
}

std::string_view without_ends(std::string_view name) {
  for (;;) {
    const std::size_t before = name.size();
    if (const std::size_t length = suffix_length(name); length != 0) name.remove_suffix(length);
    if (name.ends_with(']')) {  // libiberty's spelling of the same
      if (const std::size_t at = name.rfind(" [clone "); at != std::string_view::npos && at != 0)
        name = name.substr(0, at);
    }
    if (ends_in_rust_hash(name)) name.remove_suffix(19);
    // The version of an imported symbol.
    if (const std::size_t at = name.rfind('@'); at != std::string_view::npos && at != 0 &&
                                                name.substr(at + 1).find("_") != std::string_view::npos &&
                                                name.substr(at + 1).find(' ') == std::string_view::npos)
      name = name.substr(0, at);
    while (name.size() > 1 && name.back() == '@') name.remove_suffix(1);
    if (name.size() == before) return name;
  }
}

// The position after "[1f2e]" at `at`: the number of a crate, which comes after its name.
std::size_t behind_crate_number(std::string_view name, std::size_t at) {
  if (name[at] != '[' || at == 0 || !is_word(name[at - 1])) return at;
  std::size_t end = at + 1;
  while (end < name.size() && is_hex(name[end])) ++end;
  constexpr std::size_t kLeast = 4;  // "[12]" may be an array size
  return end < name.size() && name[end] == ']' && end - at - 1 >= kLeast ? end + 1 : at;
}

// The position after "-1.38.0" or "-1.38.0+zstd" at `at`, a package version in a path: up to the next slash.
std::size_t behind_version(std::string_view name, std::size_t at) {
  if (name[at] != '-' || at + 1 >= name.size() || !is_digit(name[at + 1])) return at;
  std::size_t end = behind_digits(name, at + 1);
  if (end >= name.size() || name[end] != '.' || end + 1 >= name.size() || !is_digit(name[end + 1])) return at;
  const std::size_t slash = name.find('/', end);
  if (slash == std::string_view::npos) return at;
  for (const char c : name.substr(end, slash - end)) {
    if (!is_word(c) && c != '.' && c != '-' && c != '+') return at;
  }
  return slash;
}

// The position after "-6f17d22bba15001f" at `at`: the hash of a registry's folder.
std::size_t behind_folder_hash(std::string_view name, std::size_t at) {
  constexpr std::size_t kDigits = 16;
  if (name[at] != '-' || at + kDigits + 1 >= name.size() || name[at + kDigits + 1] != '/') return at;
  for (const char c : name.substr(at + 1, kDigits)) {
    if (!is_hex(c)) return at;
  }
  return at + kDigits + 1;
}

std::string numbers_as_marks(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      out += name[i++];
      continue;
    }
    out += '#';
    i = behind_digits(name, i);
  }
  return out;
}

std::string one_pass(std::string_view name) {
  name = without_ends(name);
  std::string out;
  out.reserve(name.size());
  bool has_slash = name.find('/') != std::string_view::npos;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t behind = behind_crate_number(name, i);
    if (behind == i && has_slash) behind = behind_version(name, i);
    if (behind == i && has_slash) behind = behind_folder_hash(name, i);
    // "{closure#3}", "{lambda(int)#2}", "{unnamed type#1}", "{shim:vtable#0}"
    if (behind == i && name[i] == '#') {
      const std::size_t end = behind_digits(name, i + 1);
      if (end != i + 1 && (end == name.size() || name[end] == '}' || name[end] == ':')) behind = end;
    }
    if (behind != i) {
      i = behind;
      continue;
    }
    const bool starts_word = i == 0 || !is_word(name[i - 1]);
    if (starts_word && name.substr(i).starts_with("$_")) {  // a lambda, as clang names it
      out += "$_";
      i = behind_digits(name, i + 2);
      continue;
    }
    if (name.substr(i).starts_with("'lambda")) {
      out += "'lambda";
      i = behind_digits(name, i + 7);
      continue;
    }
    if (starts_word && name.substr(i).starts_with("0x")) {
      std::size_t end = i + 2;
      while (end < name.size() && (is_hex(name[end]) || (name[end] >= 'A' && name[end] <= 'F'))) ++end;
      constexpr std::size_t kAddress = 5;  // shorter numbers are constants, and may distinguish two functions
      out += name.substr(i, end - i >= 2 + kAddress ? 2 : end - i);
      i = end;
      continue;
    }
    out += name[i++];
  }
  return out;
}

}  // namespace

std::string stable_name(std::string_view name) {
  std::string out = one_pass(name);
  // Removing one suffix may expose another. Each round shortens the name, so the loop ends.
  for (std::string next = one_pass(out); next.size() < out.size(); next = one_pass(out))
    out = std::move(next);
  return out.empty() ? std::string(name) : out;
}

std::string stable_module(std::string_view name) {
  const std::size_t so = name.find(".so");
  if (so == std::string_view::npos || so == 0) return std::string(name);
  const std::string_view rest = name.substr(so + 3);
  if (!rest.empty() && rest.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::string(name);
  std::string_view stem = name.substr(0, so);
  if (const std::size_t dash = stem.rfind('-');
      dash != std::string_view::npos && dash != 0 && dash + 1 < stem.size() &&
      stem.substr(dash + 1).find_first_not_of("0123456789.") == std::string_view::npos)
    stem = stem.substr(0, dash);
  return std::string(stem) + ".so";
}

std::string stable_thread(std::string_view name) {
  return numbers_as_marks(name);
}

}  // namespace fathom::analysis
