// Which of the user's registers perf samples carry: none is known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::arch {

inline constexpr std::uint64_t kPerfRegisters = 0;
inline constexpr std::size_t kPerfFp = 0, kPerfSp = 1, kPerfPc = 2;

}  // namespace fathom::arch
