// What the kernel leaves on a thread's stack for a signal handler, made by us: rt_sigreturn leads back through it.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arch/user_registers.h"

namespace fathom::arch {

inline constexpr std::uint64_t kRedZone = 128;  // System V ABI: below sp, not touched by signal handlers
inline constexpr std::size_t kSigsetBytes = 8;

// The address to return to, and the kernel's ucontext: glibc's without what follows the first word of the mask.
inline constexpr std::size_t kSignalFrameBytes = 8 + offsetof(ucontext_t, uc_sigmask) + kSigsetBytes;

// The vector registers of a stopped thread as a signal frame has them, to be put at a multiple of 64. Empty: the
// kernel does not give them.
std::vector<std::byte> vector_registers(int tid);

// Fills the first kSignalFrameBytes of `out`. `way_back` is rt_sigreturn in the target, `mask` the signals that are
// blocked afterwards, `vectors` where the vector registers stand in the target, 0: nowhere.
void put_signal_frame(std::span<std::byte> out, std::uint64_t way_back, const UserRegisters& registers,
                      std::uint64_t mask, std::uint64_t vectors);

}  // namespace fathom::arch
