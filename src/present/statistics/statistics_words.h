// Sizes and numbers of statistics, which are not trusted: as large as they are, and never negative. Inner header of this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "analysis/core/words.h"

namespace fathom::present {

inline std::string size_words(std::uint64_t bytes) {
  return analysis::bytes(static_cast<double>(bytes));
}

inline std::string number_words(std::uint64_t value) {
  return analysis::with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
}

}  // namespace fathom::present
