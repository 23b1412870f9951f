// Counts and estimates of bytes as they stand in sentences.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "analysis/core/heap.h"
#include "analysis/core/words.h"

namespace fathom::present {

inline std::string number(std::uint64_t count) {
  return analysis::with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX)));
}

inline std::string bytes_of(const analysis::HeapAmount& amount) {
  if (amount.variance <= 0) return analysis::bytes(amount.value);
  return fmt::format("{} ±{}", analysis::bytes(amount.value), analysis::bytes(amount.error()));
}

}  // namespace fathom::present
