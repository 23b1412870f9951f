// What the dynamic loader writes into a word: not known.
#pragma once

#include <cstdint>

namespace fathom::arch {

enum class RelocationKind : std::uint8_t {
  kOther,
  kRelative,  // load bias + addend
  kAbsolute,  // a symbol's address + addend
  kSlot,      // a symbol's address, for calls and loads through the word
  kResolver,  // what the function at the addend returns
};

constexpr RelocationKind relocation_kind(std::uint32_t) {
  return RelocationKind::kOther;
}

}  // namespace fathom::arch
