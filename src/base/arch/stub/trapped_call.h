// A system call that a seccomp filter answered with a signal: no filter is known.
#pragma once

#include <cstdint>

namespace fathom::arch {

inline constexpr std::uint32_t kAuditArch = 0;  // as seccomp filters see it; 0: no filter is known

class TrappedCall {
 public:
  explicit TrappedCall(void*) {}
  long number() const { return -1; }
  std::uint64_t argument(int) const { return 0; }
  void answer(long) {}
};

}  // namespace fathom::arch
