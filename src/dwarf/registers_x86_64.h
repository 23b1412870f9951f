// DWARF register numbers of x86-64. Source: System V ABI, AMD64 supplement, figure 3.36.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::dwarf {

inline constexpr std::uint64_t kRbp = 6;
inline constexpr std::uint64_t kRsp = 7;
inline constexpr std::uint64_t kRip = 16;  // "return address"
inline constexpr std::uint64_t kRegisterCount = 17;

// The registers that a walk follows, as indexes.
enum TrackedRegister : std::size_t { kTrackedRbp, kTrackedRsp, kTrackedRip };
inline constexpr std::size_t kTrackedRegisters = 3;

// kTrackedRegisters if it is none of them.
constexpr std::size_t tracked_index(std::uint64_t register_number) {
  return register_number == kRbp   ? kTrackedRbp
         : register_number == kRsp ? kTrackedRsp
         : register_number == kRip ? kTrackedRip
                                   : kTrackedRegisters;
}

}  // namespace fathom::dwarf
