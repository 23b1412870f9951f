// The clock that costs next to nothing: the time-stamp counter.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace fathom::arch {

inline std::uint64_t read_ticks() {
  return __rdtsc();
}

}  // namespace fathom::arch
