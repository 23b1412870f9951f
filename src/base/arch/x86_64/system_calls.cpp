// The system calls of x86-64 Linux, by number. Source: asm/unistd_64.h.
#include "base/arch/common/system_calls.h"

#include <array>

#include "base/word_rows.h"

namespace fathom::arch {
namespace {

// The number of the first call of a row, and the names from it on, ascending. A star: its first argument is a descriptor.
constexpr WordRow<std::int32_t> kNames[] = {
    {0, "read* write* open close* stat fstat* lstat poll lseek* mmap mprotect munmap brk rt_sigaction"},
    {14, "rt_sigprocmask rt_sigreturn ioctl* pread64* pwrite64* readv* writev* access pipe select"},
    {24, "sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep getitimer"},
    {37, "alarm setitimer getpid sendfile* socket connect* accept* sendto* recvfrom* sendmsg* recvmsg*"},
    {48, "shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt clone fork vfork"},
    {59, "execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl* flock*"},
    {74, "fsync* fdatasync* truncate ftruncate* getdents* getcwd chdir fchdir rename mkdir rmdir creat link"},
    {87, "unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit getrusage"},
    {99, "sysinfo times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp"},
    {112, "setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid getresgid getpgid"},
    {122, "setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo"},
    {130, "rt_sigsuspend sigaltstack utime mknod uselib personality ustat statfs fstatfs sysfs getpriority"},
    {141, "setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler"},
    {146, "sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall"},
    {152, "munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex setrlimit chroot sync"},
    {163, "acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname iopl ioperm"},
    {174, "create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg"},
    {182, "putpmsg afs_syscall tuxcall security gettid readahead setxattr lsetxattr fsetxattr getxattr"},
    {192, "lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr tkill"},
    {201, "time futex sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy io_getevents"},
    {209, "io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old*"},
    {216, "remap_file_pages getdents64* set_tid_address restart_syscall semtimedop fadvise64 timer_create"},
    {223, "timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime"},
    {229, "clock_getres clock_nanosleep exit_group epoll_wait* epoll_ctl tgkill utimes vserver mbind"},
    {238, "set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify"},
    {245, "mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get inotify_init"},
    {254, "inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat futimesat"},
    {262, "newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll"},
    {272, "unshare set_robust_list get_robust_list splice* tee* sync_file_range* vmsplice* move_pages"},
    {280, "utimensat epoll_pwait* signalfd timerfd_create eventfd fallocate* timerfd_settime"},
    {287, "timerfd_gettime accept4* signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv*"},
    {296, "pwritev* rt_tgsigqueueinfo perf_event_open recvmmsg* fanotify_init fanotify_mark prlimit64"},
    {303, "name_to_handle_at open_by_handle_at clock_adjtime syncfs* sendmmsg* setns getcpu"},
    {310, "process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2"},
    {317, "seccomp getrandom memfd_create kexec_file_load bpf execveat userfaultfd membarrier mlock2"},
    {326, "copy_file_range* preadv2* pwritev2* pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq"},
    {424, "pidfd_send_signal io_uring_setup io_uring_enter* io_uring_register open_tree move_mount fsopen"},
    {431, "fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2"},
    {440, "process_madvise epoll_pwait2* mount_setattr quotactl_fd landlock_create_ruleset"},
    {445, "landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv"},
    {450, "set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue"},
    {457, "statmount listmount"},
    {462, "mseal"},
};

constexpr auto kSystemCalls = [] {
  std::array<SystemCall, count_words<kNames>()> calls{};
  std::size_t next = 0;
  for (const auto& row : kNames) {
    std::int32_t number = row.value;
    for_each_word(row.words, [&](std::string_view name) {
      const bool takes_descriptor = name.ends_with('*');
      if (takes_descriptor) name.remove_suffix(1);
      calls[next++] = {number++, name, takes_descriptor};
    });
  }
  return calls;
}();

}  // namespace

std::span<const SystemCall> system_calls() {
  return kSystemCalls;
}

}  // namespace fathom::arch
