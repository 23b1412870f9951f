// Addresses that must never be mixed are types of their own.
//   process address   as mapped in one process
//   ELF address       as linked (p_vaddr, st_value, DWARF)
//   file offset       as stored in the file
// The load bias of a mapping is process address minus ELF address.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace fathom {

struct ProcessAddress {
  std::uint64_t value = 0;
  auto operator<=>(const ProcessAddress&) const = default;
};

struct ElfAddress {
  std::uint64_t value = 0;
  auto operator<=>(const ElfAddress&) const = default;
};

struct FileOffset {
  std::uint64_t value = 0;
  auto operator<=>(const FileOffset&) const = default;
};

// One frame of a walked stack.
struct FrameAddress {
  enum class Kind : std::uint8_t { kInstructionPointer, kReturnAddress };
  ProcessAddress address;
  Kind kind;

  // A return address points after the call, and after a noreturn call into the next function. One byte less
  // is inside the call: unwind tables, symbols and lines are all asked with this address.
  constexpr ProcessAddress for_lookup() const {
    return {kind == Kind::kReturnAddress ? address.value - 1 : address.value};
  }
  auto operator<=>(const FrameAddress&) const = default;
};
static_assert(FrameAddress{{0x1000}, FrameAddress::Kind::kReturnAddress}.for_lookup().value == 0xfff);

}  // namespace fathom

template <>
struct std::hash<fathom::ElfAddress> {
  std::size_t operator()(fathom::ElfAddress address) const noexcept {
    return std::hash<std::uint64_t>{}(address.value);
  }
};
