// Machine code as text, for people who read what each instruction costs. Each processor decodes its own; one without a
// decoder gives nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"

namespace fathom::arch {

struct DecodedInstruction {
  ElfAddress address;
  std::uint32_t size = 1;            // bytes
  std::string text;                  // "mov eax, [rdi+0x08]"; plain ASCII
  std::optional<ElfAddress> target;  // of a direct call or jump
};

// From `start` on, one after the other. Bytes that are no instruction, or that are cut off by the end, are one row each. The
// bytes are a stranger's: any are fine.
std::vector<DecodedInstruction> disassemble(std::span<const std::byte> code, ElfAddress start);

}  // namespace fathom::arch
