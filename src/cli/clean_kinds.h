// What `fathom clean` removes: recordings, or heap dumps that a program wrote.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/shelf/recordings.h"

namespace fathom::cli {

struct CleanKind {
  std::string_view name;  // of --kind
  std::string_view what;  // one of them, for sentences
  Result<std::vector<shelf::Recording>> (*find)(const std::filesystem::path& folder,
                                                std::uint64_t now_unix_ns);
};

// The first one is the default.
inline constexpr std::size_t kCleanKindCount = 2;
const std::array<CleanKind, kCleanKindCount>& clean_kinds();

}  // namespace fathom::cli
