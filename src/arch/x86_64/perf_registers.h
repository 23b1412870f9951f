// Which of the user's registers perf samples carry. Source: arch/x86/include/uapi/asm/perf_regs.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::arch {

// rbp, rsp, rip: a record has them in the order of their bits.
inline constexpr std::uint64_t kPerfRegisters = (1U << 6) | (1U << 7) | (1U << 8);

// Where they stand in a record.
inline constexpr std::size_t kPerfFp = 0, kPerfSp = 1, kPerfPc = 2;

}  // namespace fathom::arch
