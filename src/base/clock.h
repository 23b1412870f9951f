// The one clock of a recording: CLOCK_MONOTONIC in nanoseconds, the same that perf events (clockid) and BPF
// (bpf_ktime_get_ns) stamp. Code that needs the time takes a value as an argument, so that tests need no
// waiting.
#pragma once

#include <time.h>

#include <cstdint>

namespace fathom {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
inline std::uint64_t wall_clock_ns() {
  return clock_ns(CLOCK_REALTIME);
}

}  // namespace fathom
