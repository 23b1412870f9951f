// Which of the user's registers perf samples carry. Source: base/arch/x86/include/uapi/asm/perf_regs.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::arch {

// rbp, rsp, rip: a record has them in the order of their bits.
inline constexpr std::uint64_t kPerfRegisters = (1U << 6) | (1U << 7) | (1U << 8);

// Where they stand in a record.
inline constexpr std::size_t kPerfFp = 0, kPerfSp = 1, kPerfPc = 2;

// Their bits.
inline constexpr int kPerfFpBit = 6, kPerfSpBit = 7, kPerfPcBit = 8;

// The DWARF number of the register of a bit; -1: it has none that stacks are walked with.
constexpr int dwarf_of_perf_register(int bit) {
  constexpr int kNumbers[] = {0, 3, 2, 1, 4, 5, 6, 7};  // rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp
  if (bit >= 0 && bit < 8) return kNumbers[bit];
  return bit >= 16 && bit < 24 ? bit - 8 : -1;  // r8 to r15, behind the flags and the segments
}

// A call's arguments and result: rax, rsi, rdi, rsp, in the order of their bits, and their place in a
// record.
inline constexpr std::uint64_t kPerfCallRegisters = (1U << 0) | (1U << 4) | (1U << 5) | (1U << 7);
inline constexpr std::size_t kPerfResult = 0, kPerfSecond = 1, kPerfFirst = 2, kPerfCallSp = 3,
                             kPerfCallCount = 4;

}  // namespace fathom::arch
