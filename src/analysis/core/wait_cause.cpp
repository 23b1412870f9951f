#include "analysis/core/wait_cause.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/word_rows.h"
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
  kHintClone = 1 << 22,
  kHintCompletion = 1 << 23,
  kHintRuntimeSleep = 1 << 24,
};

// The beginnings of the names of kernel functions, as compilers append ".isra.0" and kernels add "_locked" and "_killable" to the
// same function.
constexpr WordRow<std::uint32_t> kHintsOfKernel[] = {
    {kHintReclaim,
     "try_to_free_ do_try_to_free_pages shrink_node shrink_lruvec shrink_folio_list shrink_page_list "
     "shrink_inactive_list reclaim_throttle throttle_direct_reclaim mem_cgroup_handle_over_high "
     "__mem_cgroup_handle_over_high mem_cgroup_oom_synchronize"},
    {kHintThrottled, "throttle_cfs_rq"},
    {kHintWriteback, "balance_dirty_pages"},
    {kHintFault,
     "handle_mm_fault __handle_mm_fault filemap_fault do_user_addr_fault exc_page_fault "
     "asm_exc_page_fault do_swap_page"},
    {kHintMapLock,
     "do_mmap vm_mmap_pgoff __vm_munmap do_mprotect_pkey do_madvise mmap_read_lock mmap_write_lock"},
    {kHintIoUring, "io_cqring_wait io_wq_worker io_sq_thread"},
    {kHintExit, "do_exit do_group_exit"},
    {kHintFutex, "futex_wait __futex_wait futex_lock_pi do_futex"},
    {kHintPoll,
     "do_epoll_wait ep_poll do_sys_poll do_select eventfd_read timerfd_read signalfd_read inotify_read "
     "fanotify_read userfaultfd_read"},
    {kHintTimer, "timerfd_read"},
    {kHintSignalFile, "signalfd_read signalfd_dequeue"},
    // Files of devices and of the kernel that have data when a person or a device acts: no disk is behind them.
    {kHintPoll,
     "tty_read tty_write n_tty_ tty_wait_until_sent evdev_read mousedev_read hidraw_read fuse_dev_ "
     "tun_chr_ tun_do_read random_read urandom_read devkmsg_read do_syslog syslog_print "
     "tracing_wait_pipe"},
    {kHintSleep, "hrtimer_nanosleep do_nanosleep"},
    {kHintPipe, "pipe_read pipe_write anon_pipe_read anon_pipe_write pipe_wait"},
    {kHintSocket,
     "sock_recvmsg inet_csk_accept sock_sendmsg unix_stream_ unix_dgram_ tcp_ udp_ inet_ "
     "skb_wait_for_more_packets"},
    {kHintChild, "kernel_wait wait_for_vfork_done"},
    {kHintClone, "kernel_clone _do_fork"},
    {kHintCompletion, "wait_for_completion"},
    {kHintSync, "vfs_fsync_range"},
    {kHintIpc, "do_semtimedop do_msgrcv do_msgsnd do_mq_timed wq_sleep"},
    {kHintFileLock, "locks_lock_inode_wait flock_lock_inode_wait fcntl_setlk"},
    {kHintSignal, "do_sigtimedwait sigsuspend"},
    {kHintFile,
     "io_schedule folio_wait_bit wait_on_page_bit __wait_on_buffer submit_bio_wait request_wait_answer "
     "rpc_wait_bit_killable jbd2_ ext4_ xfs_ btrfs_ nfs_ nfs4_ fuse_ overlayfs ovl_ path_openat "
     "filename_lookup lookup_slow iterate_dir bprm_execve blk_mq_ blkdev_"},
    {kHintTraced, "ptrace_stop do_jobctl_trap"},
    {kHintStopped, "do_signal_stop"},
};

struct KernelName {
  std::string_view start;
  std::uint32_t hint;
};
constexpr auto kKernelNames = each_word<KernelName, kHintsOfKernel>();

std::uint32_t hint_of(std::string_view name) {
  std::uint32_t hints = 0;
  for (const KernelName& known : kKernelNames)
    if (name.starts_with(known.start)) hints |= known.hint;
  return hints;
}

// Runtimes whose sleep is a wait for a condition variable with a timeout, so that it can be interrupted.
bool is_sleep_of_runtime(std::string_view name) {
  return name == "JVM_Sleep" || name.starts_with("JavaThread::sleep") ||
         name.starts_with("rb_thread_wait_for") || name.starts_with("sleep_hrtime");
}

struct CallName {
  std::string_view name;
  Cause cause;
};
constexpr WordRow<Cause> kCallsOfCauses[] = {
    {Cause::kFutex, "futex futex_wait futex_waitv"},
    {Cause::kPoll, "epoll_wait epoll_wait_old epoll_pwait epoll_pwait2 poll ppoll select pselect6"},
    {Cause::kSleep, "nanosleep clock_nanosleep"},
    {Cause::kSignal, "pause rt_sigtimedwait rt_sigsuspend"},
    {Cause::kSocket, "accept accept4 connect sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg shutdown"},
    {Cause::kFileRead, "read pread64 readv preadv preadv2 readahead sendfile splice copy_file_range"},
    {Cause::kFileWrite, "write pwrite64 writev pwritev pwritev2 truncate ftruncate fallocate"},
    {Cause::kFileSync, "fsync fdatasync msync sync syncfs sync_file_range"},
    {Cause::kFileLock, "flock fcntl"},
    {Cause::kFileOther,
     "open openat openat2 creat close stat lstat fstat statx newfstatat getdents getdents64 rename "
     "renameat renameat2 link linkat unlink unlinkat mkdir mkdirat rmdir access faccessat faccessat2 "
     "readlink readlinkat execve execveat statfs fstatfs chmod fchmod fchmodat chown fchown lchown "
     "fchownat utime utimes utimensat futimesat symlink symlinkat mknod mknodat chdir fchdir chroot "
     "getcwd lseek fadvise64 getxattr lgetxattr fgetxattr setxattr lsetxattr fsetxattr listxattr "
     "llistxattr flistxattr removexattr lremovexattr fremovexattr name_to_handle_at open_by_handle_at "
     "mount umount2 pivot_root open_tree move_mount fsopen fsmount swapon swapoff inotify_add_watch "
     "inotify_rm_watch fanotify_mark finit_module init_module dup2 close_range"},
    {Cause::kIoUring, "io_uring_enter"},
    {Cause::kAsyncIo, "io_getevents io_pgetevents io_submit"},
    {Cause::kMemoryMap,
     "mmap munmap mremap mprotect madvise brk mlock mlock2 munlock mlockall munlockall mbind "
     "migrate_pages move_pages process_madvise remap_file_pages shmat shmdt pkey_mprotect userfaultfd"},
    {Cause::kChild, "wait4 waitid vfork"},
    {Cause::kIpc,
     "semop semtimedop msgsnd msgrcv mq_timedsend mq_timedreceive msgctl semctl mq_open mq_unlink "
     "mq_notify"},
    {Cause::kPipe, "tee vmsplice"},
    {Cause::kExit, "exit exit_group"},
};
constexpr auto kCalls = each_word<CallName, kCallsOfCauses>();

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
    const bool is_kernel = profile.modules[frame.module.value].kind == model::ModuleKind::kKernel;
    for (std::uint32_t line = 0; line < frame.line_count; ++line) {
      const model::FunctionId function = profile.lines[frame.first_line + line].function;
      const std::string_view name = profile.strings[profile.functions[function.value].name];
      if (is_kernel)
        of_frame[i] |= hint_of(name);
      else if (is_sleep_of_runtime(name))
        of_frame[i] |= kHintRuntimeSleep;
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
  if ((call == Cause::kFutex || call == Cause::kPoll) && has(wait, kHintRuntimeSleep)) return Cause::kSleep;
  if (call != Cause::kUnknown) return call;
  // As vfork: until the child runs its program or ends. Compilers put wait_for_vfork_done into its caller.
  if (has(wait, kHintClone) && has(wait, kHintCompletion)) return Cause::kChild;
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
      return "page fault in " + std::string(base_name(name));
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
