// Reading and writing whole files, and errno as an Error.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace fathom {

// errno as an Error: EPERM and EACCES are kPermission, ENOENT and ESRCH kNotFound, the rest kSystem.
tl::unexpected<Error> system_error(std::string_view where, int error_number);

// Reads to the end of file, also from /proc where sizes are 0. Up to `limit` bytes; a longer file is an
// error.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);
// The same of a file that is open. `path` is for messages.
Result<std::string> read_file(const Fd& fd, const std::string& path, std::size_t limit);

// Writes a new file, mode 0600, in place of an old one and whatever that holds, in one step: a reader sees
// the old or the new, never a part. What the user names goes through OutputFile instead, which asks first.
Result<> write_file(const std::string& path, std::string_view content);

}  // namespace fathom
