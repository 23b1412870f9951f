// DWARF register numbers of x86-64. Source: System V ABI, AMD64 supplement, figure 3.36.
#pragma once

#include <cstdint>

namespace fathom::arch {

inline constexpr std::uint64_t kDwarfFp = 6;   // rbp
inline constexpr std::uint64_t kDwarfSp = 7;   // rsp
inline constexpr std::uint64_t kDwarfPc = 16;  // rip, "return address"
inline constexpr std::uint64_t kDwarfRegisters = 17;

}  // namespace fathom::arch
