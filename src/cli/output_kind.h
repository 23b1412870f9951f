// Whether a file may have the name that the user gave it: a name that promises one kind of file never gets another. Endings
// without a meaning of their own are free.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

enum class OutputKind : std::uint8_t {
  kPicture,   // SVG
  kPage,      // HTML
  kText,      // for people
  kJson,      // --json
  kExported,  // a format that --to or the ending chose
};

// kUsage, with the command that writes such a file, where the ending of `path` names another kind.
Result<> fits_ending(std::string_view path, OutputKind kind);

}  // namespace fathom::cli
