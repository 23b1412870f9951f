// DW_EH_PE_*: how .eh_frame and .eh_frame_hdr write pointers. Source: LSB core, "DWARF exception header
// encoding".
#pragma once

#include <cstdint>
#include <optional>

#include "base/cursor.h"

namespace fathom::dwarf {

inline constexpr std::uint8_t kPointerAbsolute = 0x00;  // 8 bytes, as on every machine that we read
inline constexpr std::uint8_t kPointerUleb128 = 0x01;
inline constexpr std::uint8_t kPointerUdata2 = 0x02;
inline constexpr std::uint8_t kPointerUdata4 = 0x03;
inline constexpr std::uint8_t kPointerUdata8 = 0x04;
inline constexpr std::uint8_t kPointerSleb128 = 0x09;
inline constexpr std::uint8_t kPointerSdata2 = 0x0a;
inline constexpr std::uint8_t kPointerSdata4 = 0x0b;
inline constexpr std::uint8_t kPointerSdata8 = 0x0c;
inline constexpr std::uint8_t kPointerPcRelative = 0x10;
inline constexpr std::uint8_t kPointerTextRelative = 0x20;
inline constexpr std::uint8_t kPointerDataRelative = 0x30;
inline constexpr std::uint8_t kPointerFunctionRelative = 0x40;
inline constexpr std::uint8_t kPointerAligned = 0x50;
inline constexpr std::uint8_t kPointerIndirect = 0x80;
inline constexpr std::uint8_t kPointerOmit = 0xff;

// What relative pointers are relative to. ELF addresses.
struct PointerBases {
  std::uint64_t section = 0;  // of byte 0 of what the cursor reads, whose offset() then gives "here"
  std::uint64_t data = 0;
  std::uint64_t function = 0;
};

// Reads one pointer at the cursor. nullopt: cut short, omitted, or an encoding that needs what we do not have
// (memory of the process for indirect ones, a text base). Its bytes are consumed if their number is known.
std::optional<std::uint64_t> read_pointer(Cursor& in, std::uint8_t encoding, const PointerBases& bases);

}  // namespace fathom::dwarf
