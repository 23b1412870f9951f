// The registers that a walk follows, as indexes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arch/dwarf_registers.h"

namespace fathom::dwarf {

enum TrackedRegister : std::size_t { kTrackedFp, kTrackedSp, kTrackedPc };
inline constexpr std::size_t kTrackedRegisters = 3;

// kTrackedRegisters if it is none of them. `number` as DWARF counts.
constexpr std::size_t tracked_index(std::uint64_t number) {
  return number == arch::kDwarfFp   ? kTrackedFp
         : number == arch::kDwarfSp ? kTrackedSp
         : number == arch::kDwarfPc ? kTrackedPc
                                    : kTrackedRegisters;
}

}  // namespace fathom::dwarf
