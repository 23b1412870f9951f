// How many rows of a table --top lets through, and the words for those that are left out.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "analysis/core/words.h"
#include "present/text/text_report.h"

namespace fathom::present {

inline std::size_t rows_shown(std::size_t all, const TextOptions& options) {
  return options.top == 0 ? all : std::min(all, options.top);
}

// For a heading: ", 15 of 1,200". Nothing if all are shown.
inline std::string rows_of_all(std::size_t all, const TextOptions& options) {
  const std::size_t shown = rows_shown(all, options);
  return shown == all
             ? ""
             : fmt::format(", {} of {}", shown, analysis::with_commas(static_cast<std::int64_t>(all)));
}

// The line below a table: "  ... 12 threads more (--top 0 shows all)". Nothing if all are shown.
inline std::string more_rows(std::size_t all, std::size_t shown, std::string_view what) {
  return all > shown ? fmt::format("  ... {} {} more (--top 0 shows all)\n", all - shown, what) : "";
}

}  // namespace fathom::present
