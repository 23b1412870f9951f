// What the dynamic loader writes into a word. Source: x86-64 psABI section 4.4.
#pragma once

#include <elf.h>

#include <cstdint>

namespace fathom::arch {

enum class RelocationKind : std::uint8_t {
  kOther,
  kRelative,  // load bias + addend
  kAbsolute,  // a symbol's address + addend
  kSlot,      // a symbol's address, for calls and loads through the word
  kResolver,  // what the function at the addend returns
};

constexpr RelocationKind relocation_kind(std::uint32_t type) {
  switch (type) {
    case R_X86_64_RELATIVE:
      return RelocationKind::kRelative;
    case R_X86_64_64:
      return RelocationKind::kAbsolute;
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
      return RelocationKind::kSlot;
    case R_X86_64_IRELATIVE:
      return RelocationKind::kResolver;
    default:
      return RelocationKind::kOther;
  }
}

}  // namespace fathom::arch
