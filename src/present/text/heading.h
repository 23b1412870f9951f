// The line above a table, bold where there are colours.
#pragma once

#include <string>
#include <string_view>

#include "present/text/text_report.h"

namespace fathom::present {

inline std::string heading(std::string_view text, const TextOptions& options) {
  return options.color ? "\n\x1b[1m" + std::string(text) + "\x1b[0m\n" : "\n" + std::string(text) + "\n";
}

}  // namespace fathom::present
