// Packed files as what is in them, told apart by their first bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::packed {

// Whether these are the first bytes of a file of gzip, xz or zstd.
bool is_packed(std::string_view content);

// All of it: files that were packed one by one and put together are one. `name` is the file's, for messages. kMalformed
// where it is damaged or cut short; kUnsupported where more than `most` bytes are in it, which are not waited for.
Result<std::string> unpacked(std::string_view content, const std::string& name, std::uint64_t most);
// The same piece by piece, for a reader that does not need all of it at once.
Result<> unpack(std::string_view content, const std::string& name, std::uint64_t most,
                const std::function<void(std::string_view piece)>& visit);

// So many bytes of a file, packed or not, are enough to know how what is in it begins: a block of zstd, and what stands before it.
inline constexpr std::size_t kFirstPacked = 256 * 1024;
// How what is packed in a file begins, of the file's first bytes: at most `most` bytes of it; fewer where there are no more, or what
// is damaged.
std::string first_unpacked(std::string_view content, std::size_t most = 64);

}  // namespace fathom::packed
