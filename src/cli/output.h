// Where a command's result goes, and how wide and colourful it may be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

// To standard output when `path` is "" or "-", else to a file of mode 0600 that appears whole. A reader that
// has seen enough ("| head") is no error.
Result<> write_output(std::string_view content, const std::string& path);

// Columns of standard output: COLUMNS, else the terminal's, else 100.
std::size_t output_width();
// Standard output is a terminal that shows colours, and NO_COLOR is not set (no-color.org).
bool output_has_color();

}  // namespace fathom::cli
