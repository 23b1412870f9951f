// Reading and writing whole files, and errno as an Error.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom {

// errno as an Error: EPERM and EACCES are kPermission, ENOENT and ESRCH kNotFound, the rest kSystem.
tl::unexpected<Error> system_error(std::string_view where, int error_number);

// Reads to the end of file, also from /proc where sizes are 0. Up to `limit` bytes; a longer file is an
// error.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);

// Writes a new file, mode 0600, in place of an old one, in one step: a reader sees the old or the new, never
// a part.
Result<> write_file(const std::string& path, std::string_view content);

// mkdir -p, mode 0700 for what is new.
Result<> make_directories(const std::string& path);

}  // namespace fathom
