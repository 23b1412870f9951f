// The clock that every processor has: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <time.h>

#include <cstdint>

namespace fathom::arch {

inline std::uint64_t read_ticks() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace fathom::arch
