// System calls that end with EINTR when their thread is stopped, although no signal handler ran: epoll_wait
// and its like (signal(7), "Interruption of system calls and library functions by stop signals"). They are
// started again, with their full timeout. All others the kernel restarts by itself, if the registers come
// back as they were, orig_rax included.
#pragma once

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/arch/call_instructions.h"
#include "base/arch/user_registers.h"

namespace fathom::arch {

// The registers are those of such a call that has just failed with EINTR.
inline bool ended_by_stop(const UserRegisters& registers) {
  static constexpr long kCalls[] = {SYS_epoll_wait,   SYS_epoll_pwait,   SYS_epoll_pwait2,
                                    SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter,
                                    SYS_semop,        SYS_semtimedop,    SYS_rt_sigtimedwait};
  const auto number = static_cast<long>(registers.orig_rax);
  return static_cast<long>(registers.rax) == -EINTR &&
         std::find(std::begin(kCalls), std::end(kCalls), number) != std::end(kCalls);
}

// Back to the instruction `syscall`, which stands before rip.
inline void start_again(UserRegisters& registers) {
  registers.rax = registers.orig_rax;
  registers.rip -= kCallInstruction.size();
  registers.orig_rax = static_cast<unsigned long long>(-1);  // no longer in a system call
}

// What the registers would be in user mode if the kernel let the thread go on now: for a signal frame.
// Interrupted calls are started again from their beginning, with their full timeout.
inline UserRegisters as_in_user_mode(UserRegisters registers) {
  // Linux include/linux/errno.h: never seen by a program.
  constexpr long kRestartSys = 512, kRestartNoIntr = 513, kRestartNoHand = 514, kRestartBlock = 516;
  const auto number = static_cast<long>(registers.orig_rax);
  const auto result = static_cast<long>(registers.rax);
  if (number < 0) return registers;
  if (result == -kRestartSys || result == -kRestartNoIntr || result == -kRestartNoHand ||
      result == -kRestartBlock || ended_by_stop(registers))
    start_again(registers);
  return registers;
}

}  // namespace fathom::arch
