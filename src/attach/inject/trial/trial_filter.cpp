// A list of allowed system calls. Any other fails with EPERM, and the program continues with that as far as
// it can: what it would do on its own does not matter here.
#include "attach/inject/trial/trial_filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/arch/trapped_call.h"

namespace fathom::inject {
namespace {

constexpr int kAllowed[] = {
    // For a dynamic loader and the start of a C library.
    SYS_execveat, SYS_read, SYS_pread64, SYS_close, SYS_fstat, SYS_newfstatat, SYS_lseek, SYS_set_tid_address,
    SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_getrandom, SYS_uname, SYS_rt_sigprocmask,
    SYS_rt_sigaction, SYS_sigaltstack, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_sysinfo,
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
#ifdef SYS_access
    SYS_access, SYS_readlink,
#endif
    SYS_faccessat, SYS_readlinkat,
    // For a fork of the copy for each question: all of them end with the first, in a namespace of their own.
    SYS_clone,
    // For an allocator.
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_getcpu, SYS_sched_getaffinity,
    SYS_sched_yield, SYS_clock_gettime,
    // To exit.
    SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall};

constexpr int kWaits[] = {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI, FUTEX_LOCK_PI2,
                          FUTEX_WAIT_REQUEUE_PI};

constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;
constexpr std::size_t kMost = 2 * std::size(kAllowed) + 32;

}  // namespace

bool filter_private_copy() {
  std::array<sock_filter, kMost> code{};
  std::size_t size = 0;
  const auto add = [&](std::uint16_t what, std::uint8_t yes, std::uint8_t no, std::uint32_t value) {
    code[size++] = {what, yes, no, value};
  };
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch::kAuditArch);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr));
  for (const int number : kAllowed) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(number));
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  }
  // It is alone: a call that waits for another thread would wait forever, so it is ended. Source: the
  // operations of futex(2).
  add(BPF_JMP | BPF_JEQ | BPF_K, 0, std::size(kWaits) + 4, SYS_futex);
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + sizeof(std::uint64_t));
  add(BPF_ALU | BPF_AND | BPF_K, 0, 0, FUTEX_CMD_MASK);
  for (std::size_t i = 0; i < std::size(kWaits); ++i)
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(std::size(kWaits) - i), 0,
        static_cast<std::uint32_t>(kWaits[i]));
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP);
  // Files may be opened for reading only.
  const auto add_open = [&](int number, unsigned argument) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, static_cast<std::uint32_t>(number));
    add(BPF_LD | BPF_W | BPF_ABS, 0, 0,
        static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t)));
    add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, O_ACCMODE | O_CREAT | O_TRUNC);
    add(BPF_RET | BPF_K, 0, 0, kRefused);
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  };
  add_open(SYS_openat, 2);
#ifdef SYS_open
  add_open(SYS_open, 1);
#endif
  add(BPF_RET | BPF_K, 0, 0, kRefused);
  const sock_fprog program{static_cast<unsigned short>(size), code.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace fathom::inject
