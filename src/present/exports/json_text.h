// Pieces of JSON as text: the files of other tools are columns of millions of numbers, which no tree of values needs to hold.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/core/words.h"

namespace fathom::present {

// In quotes. What is no text, or could command a terminal, is replaced as everywhere (analysis/core/words.h).
inline void append_json_text(std::string& out, std::string_view raw) {
  out += '"';
  for (const char c : analysis::printable(raw)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}
inline std::string json_text(std::string_view raw) {
  std::string text;
  append_json_text(text, raw);
  return text;
}

template <class Number>
void append_number(std::string& out, Number number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}
// JSON has no other numbers than finite ones.
inline void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) number = 0;
  if (std::fabs(number) < 1e15 && number == std::floor(number))
    append_number(out, static_cast<std::int64_t>(number));
  else
    fmt::format_to(std::back_inserter(out), "{}", number);
}

// "[1,2,3]": `append(out, row)` writes one of them.
template <class Rows, class Append>
void append_list(std::string& out, const Rows& rows, const Append& append) {
  out += '[';
  bool first = true;
  for (const auto& row : rows) {
    if (!first) out += ',';
    first = false;
    append(out, row);
  }
  out += ']';
}
template <class Rows>
void append_numbers(std::string& out, const Rows& rows) {
  append_list(out, rows, [](std::string& to, const auto& row) { append_number(to, row); });
}

}  // namespace fathom::present
