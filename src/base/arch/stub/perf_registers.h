// Which of the user's registers perf samples carry: none is known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::arch {

inline constexpr std::uint64_t kPerfRegisters = 0;
inline constexpr std::size_t kPerfFp = 0, kPerfSp = 1, kPerfPc = 2;

inline constexpr int kPerfFpBit = -1, kPerfSpBit = -1, kPerfPcBit = -1;
constexpr int dwarf_of_perf_register(int) {
  return -1;
}

inline constexpr std::uint64_t kPerfCallRegisters = 0;
inline constexpr std::size_t kPerfResult = 0, kPerfSecond = 0, kPerfFirst = 0, kPerfCallSp = 0,
                             kPerfCallCount = 1;

}  // namespace fathom::arch
