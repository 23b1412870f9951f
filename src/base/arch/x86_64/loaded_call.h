// Which system call the code in front of a `syscall` asks for. Source: the Intel manual, volume 2: MOV r32, imm32 is b8 and four
// bytes, MOV r/m64, imm32 with rax is 48 c7 c0 and four bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/arch/call_instructions.h"

namespace fathom::arch {

// Bytes that are enough.
inline constexpr std::size_t kCodeOfCall = 9;

// `code` ends where a thread that waits in a system call goes on: behind its `syscall`. The number that the instruction before that
// loads; nullopt: the number comes from elsewhere, as in the wrapper syscall(2).
inline std::optional<std::int32_t> loaded_call(std::span<const std::byte> code) {
  constexpr std::array<std::byte, 3> kLoadLong{std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0}};
  constexpr std::byte kLoad{0xb8};
  if (code.size() < kCodeOfCall || !std::ranges::equal(code.last(kCallInstruction.size()), kCallInstruction))
    return std::nullopt;
  code = code.first(code.size() - kCallInstruction.size());
  std::int32_t number = 0;
  std::memcpy(&number, code.last(sizeof number).data(), sizeof number);
  code = code.first(code.size() - sizeof number);
  const bool loads = code.back() == kLoad || std::ranges::equal(code.last(kLoadLong.size()), kLoadLong);
  return loads ? std::optional(number) : std::nullopt;
}

}  // namespace fathom::arch
