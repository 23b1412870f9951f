// Which files a command may replace without --force: results of the same kind that fathom wrote before, so that a script can
// write to the same name every night.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/output_file.h"

namespace fathom::cli {

// What an existing file has to begin like so that `content` may replace it. Formats that have room for a mark of fathom are
// known by it, the others by how their own reader recognises them; a packed file by what is in it. Null for text without a
// format, such as a report: it never replaces anything but an empty file.
Replaceable earlier_result_of(std::string_view content);

// Whether the file is such a result of any kind; false for text without a format, and for what cannot be read.
bool is_earlier_result(const std::filesystem::path& file);

}  // namespace fathom::cli
