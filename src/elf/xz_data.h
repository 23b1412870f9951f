// Bytes that are packed as .xz, in whole. Source: the .xz file format 1.2, through liblzma. Untrusted: whoever packed them may
// have packed a hundred bytes that become terabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace fathom::elf {

// kMalformed: not .xz, damaged, or cut short. kUnsupported: more than `limit` bytes come out, or unpacking needs more than 128
// MiB of memory besides (xz -9 needs 65). No more than `limit` bytes are ever allocated for the result.
Result<std::vector<std::byte>> unpack_xz(std::span<const std::byte> packed, std::size_t limit);

}  // namespace fathom::elf
