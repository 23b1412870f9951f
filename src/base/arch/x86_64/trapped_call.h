// A system call that a seccomp filter answered with a signal: what was asked, and what the caller gets.
#pragma once

#include <linux/audit.h>
#include <ucontext.h>

#include <cstdint>

namespace fathom::arch {

inline constexpr std::uint32_t kAuditArch =
    AUDIT_ARCH_X86_64;  // as seccomp filters see it; 0: no filter is known

// In the handler of SIGSYS; `context` is its third argument.
class TrappedCall {
 public:
  explicit TrappedCall(void* context) : registers_(static_cast<ucontext_t*>(context)->uc_mcontext.gregs) {}
  long number() const { return static_cast<long>(registers_[REG_RAX]); }
  std::uint64_t argument(int which) const {  // the first three
    constexpr int kRegisters[] = {REG_RDI, REG_RSI, REG_RDX};
    return static_cast<std::uint64_t>(registers_[kRegisters[which]]);
  }
  void answer(long result) { registers_[REG_RAX] = result; }

 private:
  greg_t* registers_;
};

}  // namespace fathom::arch
