// A text that arrives in pieces gives the same profile as the whole text, wherever it is cut.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "formats/import/stream_reader.h"

namespace fathom::fuzz {

inline void check_in_pieces(formats::StreamReader& reader, std::string_view text,
                            const Result<model::Profile>& whole) {
  // The text determines the size of the pieces, so that the fuzzer can try any size.
  const std::size_t most = text.empty() ? 1 : 1 + static_cast<unsigned char>(text.back()) % 61;
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(most, rest.size())))
    reader.add(rest.substr(0, most));
  const Result<model::Profile> streamed = reader.finish();
  if (streamed.has_value() != whole.has_value()) std::abort();
  if (streamed ? !(*streamed == *whole) : streamed.error().message != whole.error().message) std::abort();
}

}  // namespace fathom::fuzz
