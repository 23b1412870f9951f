// Numbers of OpenTelemetry's and Jaeger's JSON. 64-bit numbers are text in some exporters' files, and numbers in those of others. 0: no number.
#pragma once

#include <cstdint>

#include "base/parse.h"
#include "formats/json/json.h"

namespace fathom::formats {

inline std::uint64_t whole_number(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : parse_number(text_of(value)).value_or(0);
}

// Of a span: 16 hexadecimal digits.
inline std::uint64_t hexadecimal_id(const Json& value) {
  return parse_number(text_of(value), 16).value_or(0);
}

}  // namespace fathom::formats
