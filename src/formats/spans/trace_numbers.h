// Numbers of OpenTelemetry's and Jaeger's JSON. 64-bit numbers are text in some exporters' files, and numbers in those of others.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "formats/json/json.h"

namespace fathom::formats {

// 0 if the text is not a number from its start to its end.
inline std::uint64_t number_in(const std::string& text, int base) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

inline std::uint64_t whole_number(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : number_in(text_of(value), 10);
}

// Of a span: 16 hexadecimal digits.
inline std::uint64_t hexadecimal_id(const Json& value) {
  return number_in(text_of(value), 16);
}

}  // namespace fathom::formats
