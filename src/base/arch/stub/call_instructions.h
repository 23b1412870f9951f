// The instructions that lead into the kernel and back: none is known. Bytes that occur nowhere as such.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fathom::arch {

inline constexpr std::array<std::byte, 16> kCallInstruction = {};
inline constexpr std::array<std::byte, 16> kCallAndReturn = {};
inline constexpr std::array<std::byte, 16> kWayBackLong = {};
inline constexpr std::array<std::byte, 16> kWayBackShort = {};

inline constexpr std::array<std::byte, 1> kBreakpoint = {};
inline constexpr std::uint64_t kStopsBehindBreakpoint = 0;

}  // namespace fathom::arch
