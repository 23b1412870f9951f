// DWARF register numbers: none that a register has.
#pragma once

#include <cstdint>

namespace fathom::arch {

inline constexpr std::uint64_t kDwarfFp = 0xfffd;
inline constexpr std::uint64_t kDwarfSp = 0xfffe;
inline constexpr std::uint64_t kDwarfPc = 0xffff;
inline constexpr std::uint64_t kDwarfRegisters = 1;

}  // namespace fathom::arch
