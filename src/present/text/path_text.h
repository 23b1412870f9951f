// The callers of something on one line, outwards: "serve ← accept ← main".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/core/words.h"

namespace fathom::present {

inline std::string path_text(const std::vector<std::string>& path) {
  constexpr std::size_t kMostNames = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(path.size(), kMostNames); ++i)
    text += (i == 0 ? "" : " ← ") + analysis::printable(path[i]);
  if (path.size() > kMostNames) text += fmt::format(" ← {} more", path.size() - kMostNames);
  return text;
}

}  // namespace fathom::present
