// Bytes of a whole .xz file. Source: the .xz file format 1.2, through liblzma. Untrusted: a hundred packed
// bytes may expand to terabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace fathom::elf {

// kMalformed: not .xz, damaged, or cut short. kUnsupported: the output exceeds `limit` bytes, or unpacking
// needs more than 128 MiB of additional memory (xz -9 needs 65). Never allocates more than `limit` bytes for
// the result.
Result<std::vector<std::byte>> unpack_xz(std::span<const std::byte> packed, std::size_t limit);

}  // namespace fathom::elf
