// Recognizes common files that fathom does not read, by their beginning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::open {

struct Stranger {
  std::string_view what;
  std::string_view remedy;  // "{}" stands for the file
};

std::optional<Stranger> stranger_of(std::string_view content);

// kUnsupported, in one line that names the file.
tl::unexpected<Error> refused(const Stranger& stranger, const std::string& path, const std::string& name);

// The remedy for unknown files.
inline constexpr std::string_view kFormatsThatAreRead =
    "a file of fathom record, or one of a format of 'Files of other tools' in the README";

}  // namespace fathom::open
