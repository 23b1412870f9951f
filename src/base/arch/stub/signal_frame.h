// What the kernel leaves on a thread's stack for a signal handler: not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arch/user_registers.h"

namespace fathom::arch {

inline constexpr std::uint64_t kRedZone = 0;
inline constexpr std::size_t kSigsetBytes = 8;
inline constexpr std::size_t kSignalFrameBytes = 16;

inline std::vector<std::byte> vector_registers(int) {
  return {};
}
inline void put_signal_frame(std::span<std::byte>, std::uint64_t, const UserRegisters&, std::uint64_t,
                             std::uint64_t) {}

}  // namespace fathom::arch
