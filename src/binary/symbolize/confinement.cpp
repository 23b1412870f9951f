#include "binary/symbolize/confinement.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/arch/trapped_call.h"
#include "base/capabilities.h"
#include "base/sanitized.h"

namespace fathom::symbolize {
namespace {

// Files of a large program: its modules and their debug files.
constexpr rlim_t kMostDescriptors = 65536;

OpenFile g_open_file = nullptr;
PathOf g_path_of = nullptr;

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  value = std::min(value, now.rlim_max);
  const rlimit less{value, value};
  (void)::setrlimit(resource, &less);
}

// What reading open files, libdw and the C library's memory need, and nothing that names a file, a process or
// the network.
constexpr int kAllowed[] = {
    SYS_read,      SYS_readv,          SYS_pread64,         SYS_lseek,        SYS_write,
    SYS_recvmsg,   SYS_sendmsg,        SYS_recvfrom,        SYS_sendto,       SYS_poll,
    SYS_close,     SYS_fstat,          SYS_munmap,          SYS_mremap,       SYS_brk,
    SYS_madvise,   SYS_futex,          SYS_clock_gettime,   SYS_rt_sigreturn, SYS_rt_sigaction,
    SYS_getrandom, SYS_rt_sigprocmask, SYS_gettid,          SYS_getpid,       SYS_tgkill,
    SYS_exit,      SYS_exit_group,     SYS_restart_syscall, SYS_sched_yield,  SYS_getrusage,
};
// Code is not made here.
constexpr int kAllowedUnlessExecutable[] = {SYS_mmap, SYS_mprotect};
constexpr int kAsked[] = {SYS_open, SYS_openat, SYS_readlink, SYS_readlinkat};

constexpr std::uint32_t kNumberAt = offsetof(seccomp_data, nr);
constexpr std::uint32_t kArchitectureAt = offsetof(seccomp_data, arch);
constexpr std::uint32_t argument_at(unsigned index) {  // its lower half
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

sock_filter load(std::uint32_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset};
}
sock_filter answer(std::uint32_t value) {
  return {BPF_RET | BPF_K, 0, 0, value};
}
sock_filter skip_unless_equal(std::uint32_t value, std::uint8_t skipped) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, skipped, value};
}

std::vector<sock_filter> filter() {
  constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> code = {load(kArchitectureAt),
                                   skip_unless_equal(arch::kAuditArch, 1),
                                   {BPF_JMP | BPF_JA, 0, 0, 1},  // over the end
                                   answer(SECCOMP_RET_KILL_PROCESS),
                                   load(kNumberAt)};
  for (const int number : kAllowed) {
    code.push_back(skip_unless_equal(static_cast<std::uint32_t>(number), 1));
    code.push_back(answer(SECCOMP_RET_ALLOW));
  }
  for (const int number : kAllowedUnlessExecutable) {
    code.push_back(skip_unless_equal(static_cast<std::uint32_t>(number), 4));
    code.push_back(load(argument_at(2)));
    code.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, PROT_EXEC});
    code.push_back(answer(kRefused));
    code.push_back(answer(SECCOMP_RET_ALLOW));
  }
  // fstat() of the C library: a call that could name a file, and here names none that the flag does not allow
  // to be empty.
  code.push_back(skip_unless_equal(SYS_newfstatat, 4));
  code.push_back(load(argument_at(3)));
  code.push_back({BPF_JMP | BPF_JSET | BPF_K, 1, 0, AT_EMPTY_PATH});
  code.push_back(answer(kRefused));
  code.push_back(answer(SECCOMP_RET_ALLOW));
  // libelf asks whether a descriptor is open.
  code.push_back(skip_unless_equal(SYS_fcntl, 4));
  code.push_back(load(argument_at(1)));
  code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, F_GETFD});
  code.push_back(answer(kRefused));
  code.push_back(answer(SECCOMP_RET_ALLOW));
  for (const int number : kAsked) {
    code.push_back(skip_unless_equal(static_cast<std::uint32_t>(number), 1));
    code.push_back(answer(SECCOMP_RET_TRAP));
  }
  code.push_back(answer(kRefused));
  return code;
}

// errno of the interrupted code is not touched: the C library sets it from what the system call returned.
long in_place_of(const arch::TrappedCall& call) {
  const auto open_for_reading = [](const char* path, std::uint64_t flags) -> long {
    if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY) return -EPERM;
    const int fd = g_open_file(path);
    return fd >= 0 ? fd : -EACCES;
  };
  switch (call.number()) {
    case SYS_open:
      return open_for_reading(reinterpret_cast<const char*>(call.argument(0)), call.argument(1));
    case SYS_openat:
      return open_for_reading(reinterpret_cast<const char*>(call.argument(1)), call.argument(2));
    case SYS_readlink: {
      const char* path = g_path_of();
      if (path == nullptr ||
          !std::string_view(reinterpret_cast<const char*>(call.argument(0))).starts_with("/proc/self/fd/"))
        return -EACCES;
      const std::size_t length = std::min<std::size_t>(std::strlen(path), call.argument(2));
      std::memcpy(reinterpret_cast<void*>(call.argument(1)), path, length);
      return static_cast<long>(length);
    }
    default:
      return -EPERM;
  }
}

void on_trap(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  arch::TrappedCall call(context);
  call.answer(in_place_of(call));
  errno = saved_errno;
}

}  // namespace

bool confine_process(const Confinement& confinement) {
  // A broken file is no reason to write one, and nothing here starts anything.
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, kMostDescriptors);
#if !FATHOM_ADDRESS_SANITIZER && !FATHOM_THREAD_SANITIZER
  limit(RLIMIT_DATA, confinement.memory_bytes);
#endif
  const bool root = ::geteuid() == 0;
  bool changed = true;
  if (root) {
    // The group list first: changing it is a right of root.
    const bool groups = ::setgroups(0, nullptr) == 0;
    changed = groups && ::setresgid(confinement.group, confinement.group, confinement.group) == 0 &&
              ::setresuid(confinement.user, confinement.user, confinement.user) == 0;
  }
  (void)keep_capabilities(0);
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Processes of the same user may neither trace it nor read its memory.
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return changed;
}

bool filter_system_calls(OpenFile open_file, PathOf path_of) {
#if FATHOM_ADDRESS_SANITIZER || FATHOM_THREAD_SANITIZER
  return false;  // the sanitizer reads /proc and maps code of its own
#endif
  if (arch::kAuditArch == 0) return false;
  g_open_file = open_file;
  g_path_of = path_of;
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return false;
  auto code = filter();
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace fathom::symbolize
