#include "analysis/core/wait_cause.h"

#include <gtest/gtest.h>

#include <set>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using model::ObjectKind;

// One thread of one program, below whose stack the kernel frames are put.
struct Waiting : HandMade {
  Waiting() {
    thread = HandMade::thread(process(10, "app"), 10, "app");
    user = frame(module("app"), {"main"});
    kernel = module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  }
  // Kernel functions from the entry on.
  Cause cause(std::string_view call, const std::vector<std::string>& functions,
              ObjectKind kind = ObjectKind::kNone, model::WaitState state = model::WaitState::kInterruptible,
              std::uint64_t argument = 0) {
    std::vector<model::FrameId> frames{user};
    for (const std::string& function : functions) frames.push_back(frame(kernel, {function}));
    model::Wait& row = wait(thread, stack(frames), call, 0, 1, 0, object(kind, name));
    row.state = state;
    row.argument = argument;
    const WaitCauses causes(profile);
    label = causes.label(row);
    queue = causes.of_queue(row);
    return causes.of(row);
  }
  model::ThreadId thread;
  model::FrameId user;
  model::ModuleId kernel;
  std::string name;   // of the object
  std::string label;  // of the last wait
  Cause queue = Cause::kUnknown;
};

TEST(WaitCause, IsWhatTheSystemCallSays) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("futex", {}), Cause::kFutex);
  EXPECT_EQ(waiting.cause("futex_waitv", {}), Cause::kFutex);
  EXPECT_EQ(waiting.cause("epoll_pwait", {}), Cause::kPoll);
  EXPECT_EQ(waiting.cause("clock_nanosleep", {}), Cause::kSleep);
  EXPECT_EQ(waiting.cause("wait4", {}), Cause::kChild);
  EXPECT_EQ(waiting.cause("io_uring_enter", {}), Cause::kIoUring);
  EXPECT_EQ(waiting.cause("io_getevents", {}), Cause::kAsyncIo) << "is not io_uring";
  EXPECT_EQ(waiting.cause("accept4", {}), Cause::kSocket);
  EXPECT_EQ(waiting.cause("fdatasync", {}), Cause::kFileSync);
  EXPECT_EQ(waiting.cause("rt_sigtimedwait", {}), Cause::kSignal);
}

// Calls that can sleep in a file system, in the address space or in a queue of the kernel: none is of unknown cause.
TEST(WaitCause, OfACallThatCanSleepIsNeverUnknown) {
  Waiting waiting;
  for (const char* call :
       {"access", "faccessat2", "readlink", "execve", "statfs", "fstatfs", "chmod", "utimensat", "symlink",
        "getxattr", "mount", "inotify_add_watch", "open", "renameat2", "getdents64"})
    EXPECT_EQ(waiting.cause(call, {}), Cause::kFileOther) << call;
  for (const char* call : {"mlock", "mbind", "shmat", "mprotect"})
    EXPECT_EQ(waiting.cause(call, {}), Cause::kMemoryMap) << call;
  for (const char* call : {"semop", "mq_timedreceive", "msgrcv"})
    EXPECT_EQ(waiting.cause(call, {}), Cause::kIpc) << call;
}

// Thread.sleep(100) of Java was "for a lock or another thread in JVM_Sleep", and a program of nothing else idle.
TEST(WaitCause, OfARuntimesSleepIsSleep) {
  HandMade hand;
  const auto row = hand.thread(hand.process(1, "java"), 1, "java");
  const auto runtime = hand.module("libjvm.so");
  const auto cause = [&](const char* call, const std::string& function) {
    const model::Wait wait =
        hand.wait(row,
                  hand.stack({hand.frame(runtime, {"run"}), hand.frame(runtime, {function}),
                              hand.frame(runtime, {"pthread_cond_timedwait"})}),
                  call, 0, 1);
    return WaitCauses(hand.profile).of(wait);
  };
  for (const char* sleep :
       {"JVM_Sleep", "JavaThread::sleep(long)", "rb_thread_wait_for", "sleep_hrtime.isra.0"})
    EXPECT_EQ(cause("futex", sleep), Cause::kSleep) << sleep;
  EXPECT_EQ(cause("ppoll", "sleep_hrtime"), Cause::kSleep);
  for (const char* other : {"Unsafe_Park", "JVM_MonitorWait", "sleep_forever", "Sleeper::JVM_Sleep"})
    EXPECT_EQ(cause("futex", other), Cause::kFutex) << other;
  EXPECT_EQ(cause("fsync", "JVM_Sleep"), Cause::kFileSync) << "what it waits for there is no time";
}

// posix_spawn makes its child with clone or clone3, and the kernel's function for that wait is mostly inlined.
TEST(WaitCause, OfSpawnIsTheChild) {
  Waiting waiting;
  for (const char* call : {"clone", "clone3", "vfork"}) {
    EXPECT_EQ(waiting.cause(call, {"kernel_clone", "wait_for_completion_state", "__wait_for_common"}),
              Cause::kChild)
        << call;
    EXPECT_EQ(waiting.cause(call, {"_do_fork", "wait_for_completion_killable"}), Cause::kChild) << call;
    EXPECT_EQ(waiting.cause(call, {"kernel_clone", "wait_for_vfork_done"}), Cause::kChild) << call;
  }
  EXPECT_EQ(waiting.cause("clone", {"kernel_clone", "copy_process", "down_read"}), Cause::kUnknown)
      << "a lock of the kernel";
  EXPECT_EQ(waiting.cause("delete_module", {"wait_for_completion"}), Cause::kUnknown) << "makes no child";
}

// A poll returns how many files are ready: none of them at its timeout. Reading returns bytes, of which none is the end of a file.
TEST(WaitCause, IsATimerWhereAPointInTimeEndsTheWait) {
  struct Row {
    const char* call;
    std::vector<std::string> functions;
    std::int64_t result;
    bool timer;
  };
  for (const Row& row : std::vector<Row>{{"poll", {"do_sys_poll"}, 0, true},
                                         {"pselect6", {"do_select"}, 0, true},
                                         {"poll", {"do_sys_poll"}, 1, false},
                                         {"poll", {"do_sys_poll"}, -4, false},
                                         {"poll", {"do_sys_poll"}, model::Wait::kNoResult, false},
                                         {"read", {"timerfd_read"}, 8, true},
                                         {"read", {"eventfd_read"}, 8, false},
                                         {"read", {"pipe_read"}, 0, false},
                                         {"recvfrom", {}, 0, false},
                                         {"clock_nanosleep", {}, model::Wait::kNoResult, true}}) {
    Waiting waiting;
    waiting.cause(row.call, row.functions);
    waiting.profile.waits.back().result = row.result;
    const WaitCauses causes(waiting.profile);
    EXPECT_EQ(causes.is_ended_by_timer(waiting.profile.waits.back()), row.timer)
        << row.call << " " << row.result;
    waiting.profile.waits.back().unfinished = true;
    if (row.result == 0) {
      EXPECT_FALSE(causes.is_ended_by_timer(waiting.profile.waits.back())) << row.call << " goes on";
    }
  }
}

// A call that does anything (ioctl), a call newer than this table, and a thread of the kernel.
TEST(WaitCause, OfAnUnknownCallIsWhatTheKernelStackShows) {
  Waiting waiting;
  struct Row {
    std::vector<std::string> functions;
    Cause cause;
  };
  for (const Row& row : std::vector<Row>{{{"ext4_sync_file", "jbd2_log_wait_commit"}, Cause::kFileOther},
                                         {{"fuse_simple_request", "request_wait_answer"}, Cause::kFileOther},
                                         {{"blkdev_ioctl", "submit_bio_wait"}, Cause::kFileOther},
                                         {{"tcp_recvmsg", "sk_wait_data"}, Cause::kSocket},
                                         {{"unix_stream_read_generic"}, Cause::kSocket},
                                         {{"do_semtimedop"}, Cause::kIpc},
                                         {{"wq_sleep"}, Cause::kIpc},
                                         {{"flock_lock_inode_wait"}, Cause::kFileLock},
                                         {{"do_sigtimedwait"}, Cause::kSignal},
                                         {{"do_wait_for_common"}, Cause::kUnknown}})
    for (const char* call : {"ioctl", ""})
      EXPECT_EQ(waiting.cause(call, row.functions), row.cause) << call << " " << row.functions[0];
}

TEST(WaitCause, OfReadingEventsIsAPollWhateverTheDescriptorIs) {
  Waiting waiting;
  for (const char* function :
       {"eventfd_read", "timerfd_read", "signalfd_read_iter", "inotify_read", "fanotify_read", "n_tty_read",
        "evdev_read", "fuse_dev_do_read", "tun_do_read", "devkmsg_read", "tracing_wait_pipe"})
    EXPECT_EQ(waiting.cause("read", {"vfs_read", function}, ObjectKind::kFile), Cause::kPoll) << function;
}

// With its own name it looks like a file; no disk is behind it.
TEST(WaitCause, OfWritingToATerminalIsAPoll) {
  Waiting waiting;
  waiting.name = "/dev/pts/1";
  EXPECT_EQ(waiting.cause("write", {"vfs_write", "file_tty_write", "n_tty_write"}, ObjectKind::kFile),
            Cause::kPoll);
  EXPECT_EQ(waiting.cause("write", {"vfs_write", "blkdev_write_iter"}, ObjectKind::kFile), Cause::kFileWrite)
      << "a disk";
}

TEST(WaitCause, OfASignalThatNoThreadSendsIsATimer) {
  for (const auto& [call, functions] : std::vector<std::pair<const char*, std::vector<std::string>>>{
           {"pause", {}}, {"rt_sigtimedwait", {}}, {"read", {"signalfd_read_iter"}}}) {
    Waiting waiting;
    waiting.cause(call, functions);
    model::Wait& wait = waiting.profile.waits.back();
    const WaitCauses causes(waiting.profile);
    EXPECT_TRUE(causes.is_ended_by_timer(wait)) << call;
    wait.waker = waiting.thread;
    EXPECT_FALSE(causes.is_ended_by_timer(wait)) << call;
    wait.waker = model::kNoThread;
    wait.unfinished = true;
    EXPECT_FALSE(causes.is_ended_by_timer(wait)) << call;
  }
}

TEST(WaitCause, OfAThreadThatAQuotaStopsIsTheQuota) {
  Waiting waiting;
  model::Wait& row = waiting.wait(waiting.thread, waiting.stack({waiting.user}), "", 0, 0, 5);
  row.state = model::WaitState::kPreempted;
  row.throttled = true;
  EXPECT_EQ(WaitCauses(waiting.profile).of(row), Cause::kThrottled);
  EXPECT_EQ(WaitCauses(waiting.profile).of_queue(row), Cause::kThrottled);
}

TEST(WaitCause, OfReadingDependsOnWhatIsRead) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("read", {}, ObjectKind::kFile), Cause::kFileRead);
  EXPECT_EQ(waiting.cause("read", {}, ObjectKind::kPipe), Cause::kPipe);
  EXPECT_EQ(waiting.cause("write", {}, ObjectKind::kSocket), Cause::kSocket);
  EXPECT_EQ(waiting.cause("read", {}, ObjectKind::kPoll), Cause::kPoll);
  EXPECT_EQ(waiting.cause("read", {"ksys_read", "pipe_read", "schedule"}), Cause::kPipe);
  EXPECT_EQ(waiting.cause("read", {"ksys_read", "eventfd_read", "schedule"}), Cause::kPoll);
}

// The recorder names a socket only if the call waits for that one alone.
TEST(WaitCause, OfAPollOfOneSocketIsThatSocketWithATimeoutToo) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("poll", {}), Cause::kPoll);
  EXPECT_EQ(waiting.cause("poll", {}, ObjectKind::kSocket), Cause::kSocket);
  EXPECT_EQ(waiting.cause("ppoll", {}, ObjectKind::kSocket), Cause::kSocket);
  model::Wait& row = waiting.profile.waits.back();
  row.result = 0;
  EXPECT_FALSE(WaitCauses(waiting.profile).is_ended_by_timer(row)) << "nobody answered in time";
}

TEST(WaitCause, IsAPageFaultInAnyFaultHandler) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("", {"asm_exc_page_fault", "filemap_fault", "folio_wait_bit_common"}),
            Cause::kPageFault);
  EXPECT_EQ(waiting.cause("", {}, ObjectKind::kMappedFile), Cause::kPageFault);
  EXPECT_EQ(waiting.cause("write", {"ksys_write", "handle_mm_fault", "io_schedule"}, ObjectKind::kFile),
            Cause::kPageFault);
}

TEST(WaitCause, IsWhatTheKernelDoesOnItsOwnAccountFirst) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("", {"handle_mm_fault", "try_to_free_mem_cgroup_pages", "shrink_node"}),
            Cause::kReclaim);
  EXPECT_EQ(
      waiting.cause("write", {"ksys_write", "balance_dirty_pages_ratelimited_flags"}, ObjectKind::kFile),
      Cause::kWriteback);
  EXPECT_EQ(waiting.cause("futex", {}, ObjectKind::kFutex, model::WaitState::kTraced), Cause::kTraced);
  EXPECT_EQ(waiting.cause("futex", {}, ObjectKind::kFutex, model::WaitState::kStopped), Cause::kStopped);
}

TEST(WaitCause, WithoutACpuIsTheRunQueueOrTheQuota) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("futex", {}, ObjectKind::kNone, model::WaitState::kPreempted), Cause::kRunQueue);
  EXPECT_EQ(waiting.queue, Cause::kRunQueue);
  EXPECT_EQ(waiting.cause("", {"task_work_run", "throttle_cfs_rq_work"}, ObjectKind::kNone,
                          model::WaitState::kPreempted),
            Cause::kThrottled);
  EXPECT_EQ(waiting.queue, Cause::kThrottled);
}

TEST(WaitCause, ThatFitsNoRuleIsUnknown) {
  Waiting waiting;
  EXPECT_EQ(waiting.cause("membarrier", {"synchronize_rcu"}), Cause::kUnknown);
  EXPECT_EQ(waiting.cause("", {}), Cause::kUnknown);
  EXPECT_EQ(waiting.label, "unknown cause");
}

TEST(WaitCause, InWordsNamesTheObject) {
  Waiting waiting;
  waiting.name = "/data/mdbx.dat";
  waiting.cause("", {}, ObjectKind::kMappedFile);
  EXPECT_EQ(waiting.label, "page fault in mdbx.dat");
  waiting.cause("fsync", {}, ObjectKind::kFile);
  EXPECT_EQ(waiting.label, "fsync of /data/mdbx.dat");
  waiting.name = "10.0.0.1:80";
  waiting.cause("recvfrom", {}, ObjectKind::kSocket);
  EXPECT_EQ(waiting.label, "wait for socket 10.0.0.1:80");
  waiting.cause("futex", {}, ObjectKind::kNone);
  EXPECT_EQ(waiting.label, "futex wait");
}

TEST(WaitCause, EachHasWordsOfItsOwn) {
  std::set<std::string_view> keys, frames;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    keys.insert(to_string(static_cast<Cause>(i)));
    frames.insert(frame_of(static_cast<Cause>(i)));
  }
  EXPECT_EQ(keys.size(), kCauseCount);
  EXPECT_EQ(frames.size(), kCauseCount);
  EXPECT_EQ(to_string(Cause::kUnknown), "unknown");
  EXPECT_EQ(frame_of(Cause::kRunQueue), "[run queue]");
  EXPECT_EQ(frame_of(Cause::kFutex), "[wait: futex]");
}

TEST(FutexUse, KnowsEveryWayToWait) {
  Waiting waiting;
  const auto use = [&](std::uint64_t operation) {
    waiting.cause("futex", {}, ObjectKind::kFutex, model::WaitState::kInterruptible, operation);
    return futex_use(waiting.profile.waits.back());
  };
  EXPECT_EQ(use(0).operation, "wait");
  EXPECT_FALSE(use(0).is_private);
  EXPECT_EQ(use(9 | 128 | 256).operation, "wait-bitset");
  EXPECT_TRUE(use(9 | 128 | 256).is_private);
  EXPECT_EQ(use(6 | 128).operation, "lock-pi");
  EXPECT_EQ(use(13).operation, "lock-pi");
  waiting.cause("futex_waitv", {});
  EXPECT_EQ(futex_use(waiting.profile.waits.back()).operation, "waitv");
  waiting.cause("read", {});
  EXPECT_EQ(futex_use(waiting.profile.waits.back()).operation, "");
}

}  // namespace
}  // namespace fathom::analysis
