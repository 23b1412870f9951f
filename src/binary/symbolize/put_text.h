// A text as its length and its bytes.
#pragma once

#include <span>
#include <string_view>

#include "base/varint.h"

namespace fathom::symbolize {

inline void put_text(Bytes& out, std::string_view text) {
  put_varint(out, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace fathom::symbolize
