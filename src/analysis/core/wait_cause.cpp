#include "analysis/core/wait_cause.h"

#include <algorithm>
#include <array>

#include "model/system_call.h"

namespace fathom::analysis {
namespace {

using model::ObjectKind;
using model::Wait;
using model::WaitState;

struct Words {
  Cause cause;
  std::string_view key, people, frame;
};
constexpr std::array<Words, kCauseCount> kWords{{
    {Cause::kFutex, "futex", "futex wait", "[wait: futex]"},
    {Cause::kPoll, "poll", "poll", "[wait: poll]"},
    {Cause::kSleep, "sleep", "sleep", "[wait: sleep]"},
    {Cause::kSignal, "signal", "wait for a signal", "[wait: signal]"},
    {Cause::kPipe, "pipe", "pipe", "[wait: pipe]"},
    {Cause::kSocket, "socket", "socket", "[wait: socket]"},
    {Cause::kFileRead, "file-read", "file read", "[wait: file read]"},
    {Cause::kFileWrite, "file-write", "file write", "[wait: file write]"},
    {Cause::kFileSync, "file-sync", "file sync", "[wait: file sync]"},
    {Cause::kFileLock, "file-lock", "file lock", "[wait: file lock]"},
    {Cause::kFileOther, "file-other", "other file work", "[wait: other file work]"},
    {Cause::kIoUring, "io-uring", "io_uring", "[wait: io_uring]"},
    {Cause::kAsyncIo, "async-io", "asynchronous I/O", "[wait: asynchronous I/O]"},
    {Cause::kPageFault, "page-fault", "page fault", "[wait: page fault]"},
    {Cause::kMemoryMap, "memory-map", "change of the address space", "[wait: memory map]"},
    {Cause::kChild, "child", "wait for a child", "[wait: child]"},
    {Cause::kIpc, "ipc", "message queue or semaphore", "[wait: ipc]"},
    {Cause::kWriteback, "writeback", "writeback throttling", "[wait: writeback]"},
    {Cause::kReclaim, "reclaim", "memory reclaim", "[wait: memory reclaim]"},
    {Cause::kThrottled, "throttled", "CPU quota of the cgroup", "[wait: CPU quota]"},
    {Cause::kStopped, "stopped", "stopped", "[wait: stopped]"},
    {Cause::kTraced, "traced", "stopped by a tracer", "[wait: traced]"},
    {Cause::kExit, "exit", "exit", "[wait: exit]"},
    {Cause::kRunQueue, "run-queue", "run queue", "[run queue]"},
    {Cause::kUnknown, "unknown", "unknown cause", "[wait: unknown]"},
}};

const Words& words(Cause cause) {
  return kWords[std::min(static_cast<std::size_t>(cause), kCauseCount - 1)];
}

enum Hint : std::uint32_t {
  kHintReclaim = 1 << 0,
  kHintThrottled = 1 << 1,
  kHintWriteback = 1 << 2,
  kHintFault = 1 << 3,
  kHintMapLock = 1 << 4,
  kHintIoUring = 1 << 5,
  kHintExit = 1 << 6,
  kHintFutex = 1 << 7,
  kHintPoll = 1 << 8,
  kHintSleep = 1 << 9,
  kHintPipe = 1 << 10,
  kHintSocket = 1 << 11,
  kHintChild = 1 << 12,
  kHintSync = 1 << 13,
  kHintTraced = 1 << 14,
  kHintStopped = 1 << 15,
  kHintIpc = 1 << 16,
  kHintFileLock = 1 << 17,
  kHintSignal = 1 << 18,
  kHintFile = 1 << 19,  // a file system or a block device
  kHintTimer = 1 << 20,
  kHintSignalFile = 1 << 21,
};

struct KernelName {
  std::string_view start;  // of the function's name
  std::uint32_t hint;
};
// Beginnings, as compilers append ".isra.0" and kernels add "_locked" and "_killable" to the same function.
constexpr std::array<KernelName, 121> kKernelNames{{
    {"try_to_free_", kHintReclaim},
    {"do_try_to_free_pages", kHintReclaim},
    {"shrink_node", kHintReclaim},
    {"shrink_lruvec", kHintReclaim},
    {"shrink_folio_list", kHintReclaim},
    {"shrink_page_list", kHintReclaim},
    {"shrink_inactive_list", kHintReclaim},
    {"reclaim_throttle", kHintReclaim},
    {"throttle_direct_reclaim", kHintReclaim},
    {"mem_cgroup_handle_over_high", kHintReclaim},
    {"__mem_cgroup_handle_over_high", kHintReclaim},
    {"mem_cgroup_oom_synchronize", kHintReclaim},
    {"throttle_cfs_rq", kHintThrottled},
    {"balance_dirty_pages", kHintWriteback},
    {"handle_mm_fault", kHintFault},
    {"__handle_mm_fault", kHintFault},
    {"filemap_fault", kHintFault},
    {"do_user_addr_fault", kHintFault},
    {"exc_page_fault", kHintFault},
    {"asm_exc_page_fault", kHintFault},
    {"do_swap_page", kHintFault},
    {"do_mmap", kHintMapLock},
    {"vm_mmap_pgoff", kHintMapLock},
    {"__vm_munmap", kHintMapLock},
    {"do_mprotect_pkey", kHintMapLock},
    {"do_madvise", kHintMapLock},
    {"mmap_read_lock", kHintMapLock},
    {"mmap_write_lock", kHintMapLock},
    {"io_cqring_wait", kHintIoUring},
    {"io_wq_worker", kHintIoUring},
    {"io_sq_thread", kHintIoUring},
    {"do_exit", kHintExit},
    {"do_group_exit", kHintExit},
    {"futex_wait", kHintFutex},
    {"__futex_wait", kHintFutex},
    {"futex_lock_pi", kHintFutex},
    {"do_futex", kHintFutex},
    {"do_epoll_wait", kHintPoll},
    {"ep_poll", kHintPoll},
    {"do_sys_poll", kHintPoll},
    {"do_select", kHintPoll},
    {"eventfd_read", kHintPoll},
    {"timerfd_read", kHintPoll},
    {"timerfd_read", kHintTimer},
    {"signalfd_read", kHintPoll},
    {"signalfd_read", kHintSignalFile},
    {"signalfd_dequeue", kHintSignalFile},
    {"inotify_read", kHintPoll},
    {"fanotify_read", kHintPoll},
    {"userfaultfd_read", kHintPoll},
    // Files of devices and of the kernel that have something when somebody does something: no disk is behind them.
    {"tty_read", kHintPoll},
    {"tty_write", kHintPoll},
    {"n_tty_", kHintPoll},
    {"tty_wait_until_sent", kHintPoll},
    {"evdev_read", kHintPoll},
    {"mousedev_read", kHintPoll},
    {"hidraw_read", kHintPoll},
    {"fuse_dev_", kHintPoll},
    {"tun_chr_", kHintPoll},
    {"tun_do_read", kHintPoll},
    {"random_read", kHintPoll},
    {"urandom_read", kHintPoll},
    {"devkmsg_read", kHintPoll},
    {"do_syslog", kHintPoll},
    {"syslog_print", kHintPoll},
    {"tracing_wait_pipe", kHintPoll},
    {"hrtimer_nanosleep", kHintSleep},
    {"do_nanosleep", kHintSleep},
    {"pipe_read", kHintPipe},
    {"pipe_write", kHintPipe},
    {"anon_pipe_read", kHintPipe},
    {"anon_pipe_write", kHintPipe},
    {"sock_recvmsg", kHintSocket},
    {"inet_csk_accept", kHintSocket},
    {"sock_sendmsg", kHintSocket},
    {"kernel_wait", kHintChild},
    {"wait_for_vfork_done", kHintChild},
    {"vfs_fsync_range", kHintSync},
    {"pipe_wait", kHintPipe},
    {"unix_stream_", kHintSocket},
    {"unix_dgram_", kHintSocket},
    {"tcp_", kHintSocket},
    {"udp_", kHintSocket},
    {"inet_", kHintSocket},
    {"skb_wait_for_more_packets", kHintSocket},
    {"do_semtimedop", kHintIpc},
    {"do_msgrcv", kHintIpc},
    {"do_msgsnd", kHintIpc},
    {"do_mq_timed", kHintIpc},
    {"wq_sleep", kHintIpc},
    {"locks_lock_inode_wait", kHintFileLock},
    {"flock_lock_inode_wait", kHintFileLock},
    {"fcntl_setlk", kHintFileLock},
    {"do_sigtimedwait", kHintSignal},
    {"sigsuspend", kHintSignal},
    {"io_schedule", kHintFile},
    {"folio_wait_bit", kHintFile},
    {"wait_on_page_bit", kHintFile},
    {"__wait_on_buffer", kHintFile},
    {"submit_bio_wait", kHintFile},
    {"request_wait_answer", kHintFile},
    {"rpc_wait_bit_killable", kHintFile},
    {"jbd2_", kHintFile},
    {"ext4_", kHintFile},
    {"xfs_", kHintFile},
    {"btrfs_", kHintFile},
    {"nfs_", kHintFile},
    {"nfs4_", kHintFile},
    {"fuse_", kHintFile},
    {"overlayfs", kHintFile},
    {"ovl_", kHintFile},
    {"path_openat", kHintFile},
    {"filename_lookup", kHintFile},
    {"lookup_slow", kHintFile},
    {"iterate_dir", kHintFile},
    {"bprm_execve", kHintFile},
    {"blk_mq_", kHintFile},
    {"blkdev_", kHintFile},
    {"ptrace_stop", kHintTraced},
    {"do_signal_stop", kHintStopped},
    {"do_jobctl_trap", kHintTraced},
}};

std::uint32_t hint_of(std::string_view name) {
  std::uint32_t hints = 0;
  for (const KernelName& known : kKernelNames) {
    if (name.starts_with(known.start)) hints |= known.hint;
  }
  return hints;
}

struct CallName {
  std::string_view name;
  Cause cause;
};
constexpr std::array<CallName, 175> kCalls{{
    {"futex", Cause::kFutex},
    {"futex_wait", Cause::kFutex},
    {"futex_waitv", Cause::kFutex},
    {"epoll_wait", Cause::kPoll},
    {"epoll_wait_old", Cause::kPoll},
    {"epoll_pwait", Cause::kPoll},
    {"epoll_pwait2", Cause::kPoll},
    {"poll", Cause::kPoll},
    {"ppoll", Cause::kPoll},
    {"select", Cause::kPoll},
    {"pselect6", Cause::kPoll},
    {"nanosleep", Cause::kSleep},
    {"clock_nanosleep", Cause::kSleep},
    {"pause", Cause::kSignal},
    {"rt_sigtimedwait", Cause::kSignal},
    {"rt_sigsuspend", Cause::kSignal},
    {"accept", Cause::kSocket},
    {"accept4", Cause::kSocket},
    {"connect", Cause::kSocket},
    {"sendto", Cause::kSocket},
    {"sendmsg", Cause::kSocket},
    {"sendmmsg", Cause::kSocket},
    {"recvfrom", Cause::kSocket},
    {"recvmsg", Cause::kSocket},
    {"recvmmsg", Cause::kSocket},
    {"read", Cause::kFileRead},
    {"pread64", Cause::kFileRead},
    {"readv", Cause::kFileRead},
    {"preadv", Cause::kFileRead},
    {"preadv2", Cause::kFileRead},
    {"readahead", Cause::kFileRead},
    {"sendfile", Cause::kFileRead},
    {"splice", Cause::kFileRead},
    {"copy_file_range", Cause::kFileRead},
    {"write", Cause::kFileWrite},
    {"pwrite64", Cause::kFileWrite},
    {"writev", Cause::kFileWrite},
    {"pwritev", Cause::kFileWrite},
    {"pwritev2", Cause::kFileWrite},
    {"truncate", Cause::kFileWrite},
    {"ftruncate", Cause::kFileWrite},
    {"fallocate", Cause::kFileWrite},
    {"fsync", Cause::kFileSync},
    {"fdatasync", Cause::kFileSync},
    {"msync", Cause::kFileSync},
    {"sync", Cause::kFileSync},
    {"syncfs", Cause::kFileSync},
    {"sync_file_range", Cause::kFileSync},
    {"flock", Cause::kFileLock},
    {"fcntl", Cause::kFileLock},
    {"open", Cause::kFileOther},
    {"openat", Cause::kFileOther},
    {"openat2", Cause::kFileOther},
    {"creat", Cause::kFileOther},
    {"close", Cause::kFileOther},
    {"stat", Cause::kFileOther},
    {"lstat", Cause::kFileOther},
    {"fstat", Cause::kFileOther},
    {"statx", Cause::kFileOther},
    {"newfstatat", Cause::kFileOther},
    {"getdents", Cause::kFileOther},
    {"getdents64", Cause::kFileOther},
    {"rename", Cause::kFileOther},
    {"renameat", Cause::kFileOther},
    {"renameat2", Cause::kFileOther},
    {"link", Cause::kFileOther},
    {"linkat", Cause::kFileOther},
    {"unlink", Cause::kFileOther},
    {"unlinkat", Cause::kFileOther},
    {"mkdir", Cause::kFileOther},
    {"mkdirat", Cause::kFileOther},
    {"rmdir", Cause::kFileOther},
    {"io_uring_enter", Cause::kIoUring},
    {"io_getevents", Cause::kAsyncIo},
    {"io_pgetevents", Cause::kAsyncIo},
    {"mmap", Cause::kMemoryMap},
    {"munmap", Cause::kMemoryMap},
    {"mremap", Cause::kMemoryMap},
    {"mprotect", Cause::kMemoryMap},
    {"madvise", Cause::kMemoryMap},
    {"brk", Cause::kMemoryMap},
    {"wait4", Cause::kChild},
    {"waitid", Cause::kChild},
    {"vfork", Cause::kChild},
    {"semop", Cause::kIpc},
    {"semtimedop", Cause::kIpc},
    {"msgsnd", Cause::kIpc},
    {"msgrcv", Cause::kIpc},
    {"mq_timedsend", Cause::kIpc},
    {"mq_timedreceive", Cause::kIpc},
    {"access", Cause::kFileOther},
    {"faccessat", Cause::kFileOther},
    {"faccessat2", Cause::kFileOther},
    {"readlink", Cause::kFileOther},
    {"readlinkat", Cause::kFileOther},
    {"execve", Cause::kFileOther},
    {"execveat", Cause::kFileOther},
    {"statfs", Cause::kFileOther},
    {"fstatfs", Cause::kFileOther},
    {"chmod", Cause::kFileOther},
    {"fchmod", Cause::kFileOther},
    {"fchmodat", Cause::kFileOther},
    {"chown", Cause::kFileOther},
    {"fchown", Cause::kFileOther},
    {"lchown", Cause::kFileOther},
    {"fchownat", Cause::kFileOther},
    {"utime", Cause::kFileOther},
    {"utimes", Cause::kFileOther},
    {"utimensat", Cause::kFileOther},
    {"futimesat", Cause::kFileOther},
    {"symlink", Cause::kFileOther},
    {"symlinkat", Cause::kFileOther},
    {"mknod", Cause::kFileOther},
    {"mknodat", Cause::kFileOther},
    {"chdir", Cause::kFileOther},
    {"fchdir", Cause::kFileOther},
    {"chroot", Cause::kFileOther},
    {"getcwd", Cause::kFileOther},
    {"lseek", Cause::kFileOther},
    {"fadvise64", Cause::kFileOther},
    {"getxattr", Cause::kFileOther},
    {"lgetxattr", Cause::kFileOther},
    {"fgetxattr", Cause::kFileOther},
    {"setxattr", Cause::kFileOther},
    {"lsetxattr", Cause::kFileOther},
    {"fsetxattr", Cause::kFileOther},
    {"listxattr", Cause::kFileOther},
    {"llistxattr", Cause::kFileOther},
    {"flistxattr", Cause::kFileOther},
    {"removexattr", Cause::kFileOther},
    {"lremovexattr", Cause::kFileOther},
    {"fremovexattr", Cause::kFileOther},
    {"name_to_handle_at", Cause::kFileOther},
    {"open_by_handle_at", Cause::kFileOther},
    {"mount", Cause::kFileOther},
    {"umount2", Cause::kFileOther},
    {"pivot_root", Cause::kFileOther},
    {"open_tree", Cause::kFileOther},
    {"move_mount", Cause::kFileOther},
    {"fsopen", Cause::kFileOther},
    {"fsmount", Cause::kFileOther},
    {"swapon", Cause::kFileOther},
    {"swapoff", Cause::kFileOther},
    {"inotify_add_watch", Cause::kFileOther},
    {"inotify_rm_watch", Cause::kFileOther},
    {"fanotify_mark", Cause::kFileOther},
    {"finit_module", Cause::kFileOther},
    {"init_module", Cause::kFileOther},
    {"dup2", Cause::kFileOther},
    {"close_range", Cause::kFileOther},
    {"mlock", Cause::kMemoryMap},
    {"mlock2", Cause::kMemoryMap},
    {"munlock", Cause::kMemoryMap},
    {"mlockall", Cause::kMemoryMap},
    {"munlockall", Cause::kMemoryMap},
    {"mbind", Cause::kMemoryMap},
    {"migrate_pages", Cause::kMemoryMap},
    {"move_pages", Cause::kMemoryMap},
    {"process_madvise", Cause::kMemoryMap},
    {"remap_file_pages", Cause::kMemoryMap},
    {"shmat", Cause::kMemoryMap},
    {"shmdt", Cause::kMemoryMap},
    {"pkey_mprotect", Cause::kMemoryMap},
    {"userfaultfd", Cause::kMemoryMap},
    {"tee", Cause::kPipe},
    {"vmsplice", Cause::kPipe},
    {"io_submit", Cause::kAsyncIo},
    {"shutdown", Cause::kSocket},
    {"msgctl", Cause::kIpc},
    {"semctl", Cause::kIpc},
    {"mq_open", Cause::kIpc},
    {"mq_unlink", Cause::kIpc},
    {"mq_notify", Cause::kIpc},
    {"exit", Cause::kExit},
    {"exit_group", Cause::kExit},
}};

constexpr std::int32_t kMostCalls = 512;

std::array<Cause, kMostCalls> causes_by_number() {
  std::array<Cause, kMostCalls> causes;
  for (std::int32_t number = 0; number < kMostCalls; ++number) {
    const std::string_view name = model::system_call_name(number);
    const auto known =
        std::find_if(kCalls.begin(), kCalls.end(), [&](const CallName& call) { return call.name == name; });
    causes[static_cast<std::size_t>(number)] = known == kCalls.end() ? Cause::kUnknown : known->cause;
  }
  return causes;
}

bool is_reading_or_writing(Cause cause) {
  return cause == Cause::kFileRead || cause == Cause::kFileWrite || cause == Cause::kFileOther;
}

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

}  // namespace

std::string_view to_string(Cause cause) {
  return words(cause).key;
}
std::string_view describe(Cause cause) {
  return words(cause).people;
}
std::string_view frame_of(Cause cause) {
  return words(cause).frame;
}

std::optional<Cause> cause_of_frame(std::string_view frame) {
  const auto known =
      std::find_if(kWords.begin(), kWords.end(), [&](const Words& row) { return row.frame == frame; });
  return known == kWords.end() ? std::nullopt : std::optional(known->cause);
}

Cause cause_of_call(std::int32_t system_call) {
  static const std::array<Cause, kMostCalls> kCauses = causes_by_number();
  return system_call < 0 || system_call >= kMostCalls ? Cause::kUnknown
                                                      : kCauses[static_cast<std::size_t>(system_call)];
}

FutexUse futex_use(const Wait& wait) {
  const std::string_view call = model::system_call_name(wait.system_call);
  if (call == "futex_waitv") return {"waitv", false};
  if (call == "futex_wait") return {"wait", false};
  if (call != "futex") return {"", false};
  const bool is_private = (wait.argument & 128) != 0;
  switch (wait.argument & 127) {
    case 0:
      return {"wait", is_private};
    case 6:
    case 13:
      return {"lock-pi", is_private};
    case 9:
      return {"wait-bitset", is_private};
    case 11:
      return {"wait-requeue-pi", is_private};
    default:
      return {"", is_private};
  }
}

WaitCauses::WaitCauses(const model::Profile& profile) : profile_(profile), hints_(profile.stacks.size(), 0) {
  std::vector<std::uint32_t> of_frame(profile.frames.size(), 0);
  for (std::size_t i = 0; i < profile.frames.size(); ++i) {
    const model::Frame& frame = profile.frames[i];
    if (profile.modules[frame.module.value].kind != model::ModuleKind::kKernel) continue;
    for (std::uint32_t line = 0; line < frame.line_count; ++line) {
      const model::FunctionId function = profile.lines[frame.first_line + line].function;
      of_frame[i] |= hint_of(profile.strings[profile.functions[function.value].name]);
    }
  }
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const model::Stack& stack = profile.stacks[i];
    hints_[i] = hints_[stack.parent.value] | of_frame[stack.frame.value];
  }
}

bool WaitCauses::is_ended_by_timer(const Wait& wait) const {
  const Cause cause = of(wait);
  if (cause == Cause::kSleep) return true;
  // A signal that no thread sends is that of an alarm or a timer.
  if (cause == Cause::kSignal || has(wait, kHintSignalFile))
    return wait.waker == model::kNoThread && !wait.unfinished;
  if (cause != Cause::kPoll) return false;
  // A call that waits for one of several files returns how many of them are ready.
  return has(wait, kHintTimer) ||
         (cause_of_call(wait.system_call) == Cause::kPoll && wait.result == 0 && !wait.unfinished);
}

Cause WaitCauses::of_queue(const Wait& wait) const {
  return wait.throttled || has(wait, kHintThrottled) ? Cause::kThrottled : Cause::kRunQueue;
}

Cause WaitCauses::of(const Wait& wait) const {
  if (wait.state == WaitState::kPreempted) return of_queue(wait);
  if (wait.state == WaitState::kTraced || has(wait, kHintTraced)) return Cause::kTraced;
  if (wait.state == WaitState::kStopped || has(wait, kHintStopped)) return Cause::kStopped;
  // What the kernel does on its own account comes before what the thread had asked for.
  if (has(wait, kHintThrottled)) return Cause::kThrottled;
  if (has(wait, kHintReclaim)) return Cause::kReclaim;
  if (has(wait, kHintWriteback)) return Cause::kWriteback;
  if (has(wait, kHintExit)) return Cause::kExit;
  if (has(wait, kHintFault)) return Cause::kPageFault;
  const ObjectKind object = profile_.objects[wait.object.value].kind;
  if (wait.system_call < 0) {
    if (object == ObjectKind::kMappedFile || object == ObjectKind::kMemory) return Cause::kPageFault;
    if (has(wait, kHintIoUring)) return Cause::kIoUring;
  }
  const Cause call = cause_of_call(wait.system_call);
  if (is_reading_or_writing(call)) {  // of what? The call alone does not say
    if (object == ObjectKind::kPipe || has(wait, kHintPipe)) return Cause::kPipe;
    if (object == ObjectKind::kSocket || has(wait, kHintSocket)) return Cause::kSocket;
    if (object == ObjectKind::kPoll || has(wait, kHintPoll)) return Cause::kPoll;
  }
  if (call == Cause::kPoll && object == ObjectKind::kSocket) return Cause::kSocket;  // of that one alone
  if (call != Cause::kUnknown) return call;
  // The last ones are general: a futex or a socket is reached through no file system.
  constexpr std::array<std::pair<std::uint32_t, Cause>, 13> kByHint{{{kHintFutex, Cause::kFutex},
                                                                     {kHintPoll, Cause::kPoll},
                                                                     {kHintSleep, Cause::kSleep},
                                                                     {kHintPipe, Cause::kPipe},
                                                                     {kHintSocket, Cause::kSocket},
                                                                     {kHintChild, Cause::kChild},
                                                                     {kHintSync, Cause::kFileSync},
                                                                     {kHintIoUring, Cause::kIoUring},
                                                                     {kHintMapLock, Cause::kMemoryMap},
                                                                     {kHintIpc, Cause::kIpc},
                                                                     {kHintFileLock, Cause::kFileLock},
                                                                     {kHintSignal, Cause::kSignal},
                                                                     {kHintFile, Cause::kFileOther}}};
  for (const auto& [hint, cause] : kByHint) {
    if (has(wait, hint)) return cause;
  }
  switch (object) {
    case ObjectKind::kFutex:
      return Cause::kFutex;
    case ObjectKind::kPipe:
      return Cause::kPipe;
    case ObjectKind::kSocket:
      return Cause::kSocket;
    case ObjectKind::kProcess:
      return Cause::kChild;
    default:
      return Cause::kUnknown;
  }
}

std::string WaitCauses::label(const Wait& wait) const {
  const Cause cause = of(wait);
  const model::WaitObject& object = profile_.objects[wait.object.value];
  const std::string name(profile_.strings[object.name]);
  if (name.empty()) return std::string(describe(cause));
  switch (cause) {
    case Cause::kPageFault:
      return "page fault in " + std::string(last_part(name));
    case Cause::kFileRead:
      return "read of " + name;
    case Cause::kFileWrite:
      return "write to " + name;
    case Cause::kFileSync: {
      const std::string_view call = model::system_call_name(wait.system_call);
      return (call.empty() ? std::string("sync") : std::string(call)) + " of " + name;
    }
    case Cause::kFileLock:
      return "lock of " + name;
    case Cause::kSocket:
      return "wait for " + (name.starts_with("unix") ? name : "socket " + name);
    case Cause::kPipe:
      return "wait for " + name;
    default:
      return std::string(describe(cause));
  }
}

}  // namespace fathom::analysis
