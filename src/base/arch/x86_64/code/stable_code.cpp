#include "base/arch/common/stable_code.h"

#include <Zydis/Zydis.h>

#include <algorithm>

namespace fathom::arch {
namespace {

// Below it lie stubs: one jump, or a call and a return. Without their targets they are all the same.
constexpr std::size_t kLeastCode = 32;  // bytes
// A function this large is identified by its beginning and its size.
constexpr std::size_t kMostCode = std::size_t{256} << 10;

// Addresses below are numbers: a file that may be put anywhere begins at 0, and any size or flag lies in it.
constexpr std::uint64_t kLeastAddress = 0x10000;

bool is_address(std::uint64_t value, const ImageRange& image) {
  return image.first >= kLeastAddress && value >= image.first && value < image.end;
}

void blank(std::vector<std::byte>& bytes, std::size_t at, unsigned bits) {
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), bits / 8, std::byte{0});
}

}  // namespace

std::optional<std::vector<std::byte>> stable_code(std::span<const std::byte> code, ElfAddress start,
                                                  const ImageRange& image) {
  if (code.size() < kLeastCode) return std::nullopt;
  ZydisDecoder decoder;
  if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return std::nullopt;
  // An instruction that crosses the end of a part would be cut, so the last of a part is whole or there is none.
  const std::size_t wanted = std::min(code.size(), kMostCode);
  std::vector<std::byte> bytes(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(wanted));
  std::size_t at = 0;
  while (at < wanted) {
    ZydisDecodedInstruction instruction;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at, code.size() - at,
                                                  &instruction)))
      return std::nullopt;
    const std::size_t next = at + instruction.length;
    if (next > wanted) break;
    const auto& raw = instruction.raw;
    // [rip + displacement]
    const bool of_rip =
        (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && raw.modrm.mod == 0 && raw.modrm.rm == 5;
    if (raw.disp.size >= 32 && (of_rip || is_address(static_cast<std::uint64_t>(raw.disp.value), image)))
      blank(bytes, at + raw.disp.offset, raw.disp.size);
    for (const auto& immediate : raw.imm) {
      if (immediate.size < 32) continue;
      if (immediate.is_relative) {
        const std::uint64_t to = start.value + next + static_cast<std::uint64_t>(immediate.value.s);
        if (to - start.value >= code.size()) blank(bytes, at + immediate.offset, immediate.size);
      } else if (is_address(immediate.value.u, image)) {
        blank(bytes, at + immediate.offset, immediate.size);
      }
    }
    at = next;
  }
  bytes.resize(at);
  for (unsigned i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(code.size() >> (8 * i)));
  return bytes;
}

}  // namespace fathom::arch
