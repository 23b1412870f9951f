#include "analysis/core/idle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

// The rule that holds for a wait below these functions, root first; "" if none does.
std::string rule_for(std::string_view call, const std::vector<std::string>& functions,
                     const std::string& thread = "some", double waited_ms = 1) {
  HandMade hand;
  const auto row = hand.thread(hand.process(1, "app"), 1, thread);
  const auto app = hand.module("app");
  std::vector<model::FrameId> frames;
  for (const std::string& function : functions) frames.push_back(hand.frame(app, {function}));
  const model::Wait& wait = hand.wait(row, hand.stack(frames), call, 0, waited_ms);
  const RuledWaits idle(hand.profile, built_in_idle_rules());
  const auto rule = idle.rule_of(wait, WaitCauses(hand.profile).of(wait));
  return rule && idle.crowd(*rule) == 0 ? idle.name(*rule) : "";  // this is one thread
}

// The reason of a wait below these functions, and the function that is the evidence; "" if none is known.
std::pair<std::string, std::string> reason_for(std::string_view call,
                                               const std::vector<std::string>& functions,
                                               bool in_kernel = false) {
  HandMade hand;
  const auto row = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app"), kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  std::vector<model::FrameId> frames;
  for (const std::string& function : functions)
    frames.push_back(hand.frame(in_kernel && &function == &functions.back() ? kernel : app, {function}));
  const model::Wait& wait = hand.wait(row, hand.stack(frames), call, 0, 1);
  const RuledWaits reasons(hand.profile, built_in_wait_reasons());
  const auto rule = reasons.rule_of(wait, WaitCauses(hand.profile).of(wait));
  if (!rule) return {};
  return {reasons.name(*rule), reasons.evidence(*rule, wait.stack)};
}

TEST(WaitReasons, OfTheFileAreWellFormed) {
  const Result<WaitRules> rules = parse_wait_rules(kWaitReasonsText, "wait_reasons.txt");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_GE(rules->rules.size(), 10u);
}

TEST(WaitReasons, AreFoundByAFunctionOnTheStack) {
  using Known = std::pair<std::string, std::string>;
  EXPECT_EQ(reason_for("clock_nanosleep", {"main", "save", "sqlite3_step", "usleep", "clock_nanosleep"}),
            Known("the lock of a database (SQLite)", "sqlite3_step"));
  EXPECT_EQ(reason_for("epoll_wait", {"PostgresMain", "LockAcquireExtended", "ProcSleep", "WaitLatch"}),
            Known("a lock of the database (PostgreSQL)", "ProcSleep"));
  EXPECT_EQ(reason_for("epoll_wait", {"PostgresMain", "heap_update", "XactLockTableWait",
                                      "LockAcquireExtended", "ProcSleep", "WaitLatch"}),
            Known("a row's transaction to end (PostgreSQL)", "XactLockTableWait"));
  EXPECT_EQ(reason_for("futex", {"PostgresMain", "XactLockTableWait", "LWLockAcquire", "PGSemaphoreLock"}),
            Known("a lock of the database (PostgreSQL)", "LWLockAcquire"))
      << "of the table of locks, and not of the row";
  EXPECT_EQ(reason_for("futex", {"PostgresMain", "XLogFlush", "LWLockAcquireOrWait", "PGSemaphoreLock"}),
            Known("the log to be written by another process (PostgreSQL)", "LWLockAcquireOrWait"));
  EXPECT_EQ(
      reason_for("futex", {"main", "reth_libmdbx::begin_rw", "mdbx_txn_begin_ex", "pthread_mutex_lock"}),
      Known("the writers' lock of a database (LMDB, MDBX)", "mdbx_txn_begin_ex"));
  EXPECT_EQ(reason_for("poll", {"main", "connect_to", "getaddrinfo", "__res_context_send", "poll"}),
            Known("an answer of the DNS", "__res_context_send"));
  EXPECT_EQ(
      reason_for("futex", {"main", "app::find", "r2d2::Pool<app::Manager>::get", "std::sync::Condvar::wait"}),
      Known("a connection of a pool", "r2d2::Pool<app::Manager>::get"));
  EXPECT_EQ(reason_for("futex", {"main", "std::sync::mpmc::array::Channel<T>::send", "std::thread::park"}),
            Known("room in a full channel", "std::sync::mpmc::array::Channel<T>::send"));
  EXPECT_EQ(reason_for("futex", {"main", "crossbeam_channel::flavors::list::Channel<T>::recv", "syscall"}),
            Known("something in an empty channel", "crossbeam_channel::flavors::list::Channel<T>::recv"));
  EXPECT_EQ(reason_for("futex", {"main", "run_all", "__pthread_clockjoin_ex", "___pthread_join"}),
            Known("the end of a thread", "__pthread_clockjoin_ex"));
  EXPECT_EQ(reason_for("futex", {"main", "get", "pthread_rwlock_rdlock"}),
            Known("a reader-writer lock", "pthread_rwlock_rdlock"));
  EXPECT_EQ(reason_for("futex", {"main", "parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", "syscall"}),
            Known("a reader-writer lock", "parking_lot::raw_rwlock::RawRwLock::lock_shared_slow"));
  EXPECT_EQ(reason_for("futex", {"Py_RunMain", "take_gil", "PyCOND_TIMEDWAIT", "pthread_cond_timedwait"}),
            Known("the interpreter's lock (Python)", "take_gil"));
  EXPECT_EQ(reason_for("futex", {"main", "rb_nogvl", "gvl_acquire", "native_cond_wait", "pthread_cond_wait"}),
            Known("the interpreter's lock (Ruby)", "gvl_acquire"));
  EXPECT_EQ(reason_for("pwrite64", {"main", "write_log", "blk_mq_get_tag"}, true),
            Known("room in the queue of the block device", "blk_mq_get_tag"));
  EXPECT_EQ(reason_for("futex", {"main", "rocksdb::DBImpl::WriteImpl(int)",
                                 "rocksdb::DBImpl::DelayWrite(long)", "pthread_cond_wait"}),
            Known("a stalled write (RocksDB, LevelDB)", "rocksdb::DBImpl::DelayWrite(long)"));
  EXPECT_EQ(reason_for("clock_nanosleep", {"main", "leveldb::DBImpl::MakeRoomForWrite(bool)", "usleep"}),
            Known("a stalled write (RocksDB, LevelDB)", "leveldb::DBImpl::MakeRoomForWrite(bool)"));
  EXPECT_EQ(reason_for("futex", {"main", "rocksdb::DBImpl::WriteImpl(int)",
                                 "rocksdb::WriteThread::JoinBatchGroup(rocksdb::WriteThread::Writer*)",
                                 "rocksdb::WriteThread::AwaitState(int)", "pthread_cond_wait"}),
            Known("the write of another thread (RocksDB, LevelDB)", "rocksdb::WriteThread::AwaitState(int)"))
      << "who waits for the first of its group is not stalled";
  EXPECT_EQ(reason_for("read", {"main", "next_frame", "timerfd_read"}, true),
            Known("a timer", "timerfd_read"));
  EXPECT_EQ(reason_for("clone3", {"main", "posix_spawn", "wait_for_vfork_done"}, true), Known("", ""))
      << "the kernel's function that makes the child is not on this stack";
  EXPECT_EQ(reason_for("vfork", {"main", "system", "kernel_clone"}, true),
            Known("a child to run its program", "kernel_clone"));
  EXPECT_EQ(reason_for("wait4", {"main", "system", "do_wait"}, true), Known("", ""));
}

TEST(IdleRules, KnowThePoolsOfRuntimesByTheirFunctions) {
  EXPECT_EQ(
      rule_for("futex", {"start_thread", "tpool::thread_pool_generic::wait_for_tasks(tpool::worker_data*)",
                         "pthread_cond_clockwait"}),
      "MariaDB worker");
  EXPECT_EQ(rule_for("futex", {"start_thread", "beam.smp@0x1413c0", "ethr_event_twait", "syscall"}),
            "Erlang scheduler");
  EXPECT_EQ(rule_for("futex", {"start_thread", "ethr_mutex_lock_wait__", "ethr_event_wait", "syscall"}), "");
  EXPECT_EQ(rule_for("futex", {"start_thread", "waitCondition", "pthread_cond_wait"}, "pandoc:w"),
            "Haskell worker");
  EXPECT_EQ(rule_for("futex", {"start_thread", "waitCondition", "pthread_cond_wait"}, "pandoc"), "");
  EXPECT_EQ(rule_for("futex", {"start_thread", "blas_thread_server", "pthread_cond_wait"}),
            "OpenBLAS worker");
}

// The interpreter of Debian has the names of what extensions call, and none of take_gil.
TEST(WaitReasons, AreTheLockOfAStrippedPython) {
  const auto reason_of = [](const std::vector<std::string>& between) {
    HandMade hand;
    const auto row = hand.thread(hand.process(1, "app"), 1, "app");
    const auto python = hand.module("python3.11"),
               module = hand.module("_pool.cpython-311-x86_64-linux-gnu.so"), libc = hand.module("libc.so.6");
    std::vector<model::FrameId> frames{hand.frame(python, {"_PyEval_EvalFrameDefault"})};
    for (const std::string& name : between)
      frames.push_back(hand.frame(name.starts_with("python") ? python : module, {name}));
    frames.push_back(hand.frame(libc, {"pthread_cond_timedwait"}));
    const model::Wait& wait = hand.wait(row, hand.stack(frames), "futex", 0, 5);
    const RuledWaits reasons(hand.profile, built_in_wait_reasons());
    const auto rule = reasons.rule_of(wait, WaitCauses(hand.profile).of(wait));
    return rule ? reasons.name(*rule) : "";
  };
  EXPECT_EQ(reason_of({"python3.11@fde+0x51e4a0", "python3.11@fde+0x4e1c90"}),
            "the interpreter's lock (Python)");
  EXPECT_EQ(reason_of({"python3.11@fde+0x51e4a0", "PyThread_acquire_lock_timed"}), "");
  EXPECT_EQ(reason_of({"python3.11@fde+0x51e4a0", "Pool::wait_for_work"}), "")
      << "a module waits for its own";
}

TEST(WaitReasons, AreNotGuessed) {
  using Known = std::pair<std::string, std::string>;
  EXPECT_EQ(reason_for("futex", {"main", "get", "pthread_mutex_lock"}), Known());
  EXPECT_EQ(reason_for("clock_nanosleep", {"main", "retry"}), Known());
  EXPECT_EQ(reason_for("pread64", {"main", "sqlite3_step", "pread64"}),
            Known("a statement of a database (SQLite)", "sqlite3_step"))
      << "a read is no lock of the database";
  EXPECT_EQ(reason_for("epoll_wait", {"main", "sqlx_core::pool::PoolInner::acquire"}).first,
            "a connection of a pool");
}

// What a database did while it waited for its files.
TEST(WaitReasons, AreTheWorkOfADatabase) {
  const auto reason = [](std::string_view call, const std::vector<std::string>& functions) {
    return reason_for(call, functions).first;
  };
  EXPECT_EQ(reason("fdatasync", {"main", "sqlite3_step", "sqlite3VdbeHalt", "sqlite3PagerCommitPhaseOne"}),
            "a commit of a database (SQLite)");
  EXPECT_EQ(reason("fdatasync", {"main", "sqlite3_step", "app@fde+0x10", "fdatasync"}),
            "a statement of a database (SQLite)")
      << "a stripped library has its exported names only";
  EXPECT_EQ(reason("fdatasync", {"reth::save", "mdbx_txn_commit_ex", "mdbx_env_sync_internal"}),
            "a commit of a database (LMDB, MDBX)");
  EXPECT_EQ(reason("pread64", {"rocksdb::DBImpl::BackgroundCompaction", "rocksdb::BlockFetcher::ReadBlock"}),
            "a compaction of a database (RocksDB, LevelDB)");
  EXPECT_EQ(reason("pread64", {"serve", "rocksdb::DBImpl::GetImpl", "rocksdb::BlockFetcher::ReadBlock"}),
            "a block of a table (RocksDB, LevelDB)");
  EXPECT_EQ(reason("fdatasync", {"serve", "leveldb::DBImpl::Write", "fdatasync"}),
            "the log of a database (RocksDB, LevelDB)");
  EXPECT_EQ(reason("fdatasync", {"PostgresMain", "XLogFlush", "issue_xlog_fsync"}),
            "the log of a database (PostgreSQL)");
  EXPECT_EQ(reason("fdatasync", {"main", "save", "fdatasync"}), "");
}

TEST(IdleRules, OfGoAndOfJava) {
  EXPECT_EQ(rule_for("nanosleep", {"runtime.mstart1", "runtime.sysmon", "runtime.usleep.abi0"}),
            "Go scheduler");
  EXPECT_EQ(rule_for("futex", {"runtime.mstart1", "runtime.templateThread", "runtime.notesleep"}),
            "Go scheduler");
  EXPECT_EQ(rule_for("futex", {"main.main", "runtime.lock2", "runtime.futexsleep"}), "");
  EXPECT_EQ(rule_for("futex", {"thread_native_entry", "ServiceThread::service_thread_entry"}),
            "JVM housekeeping");
  EXPECT_EQ(rule_for("futex", {"VMThread::run", "VMThread::wait_for_operation", "Monitor::wait"}),
            "JVM housekeeping");
  EXPECT_EQ(rule_for("futex", {"JVM_MonitorWait"}, "Reference Handl"), "JVM housekeeping");
  EXPECT_EQ(rule_for("futex", {"JVM_MonitorWait"}, "main"), "");
}

TEST(IdleRules, KnowWatchersOfFilesByTheKernelsFunction) {
  HandMade hand;
  const auto app = hand.module("app"), kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(app, {"main"});
  const auto rule = [&](const char* function) {
    const auto stack = hand.stack({main, hand.frame(kernel, {function})});
    const model::Wait& wait =
        hand.wait(thread, stack, "read", 0, 1, 0, hand.object(model::ObjectKind::kPoll, ""));
    const RuledWaits idle(hand.profile, built_in_idle_rules());
    const auto found = idle.rule_of(wait, WaitCauses(hand.profile).of(wait));
    return found ? idle.name(*found) : "";
  };
  EXPECT_EQ(rule("inotify_read"), "watcher of files");
  EXPECT_EQ(rule("eventfd_read"), "") << "another thread writes";
}

TEST(IdleRules, OfTheFileAreWellFormed) {
  const Result<WaitRules> rules = parse_wait_rules(kIdleRulesText, "idle_rules.txt");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_GT(rules->rules.size(), 20u);
}

TEST(IdleRules, KnowWorkersOfTokio) {
  EXPECT_EQ(rule_for("futex", {"main", "tokio::runtime::scheduler::multi_thread::worker::run",
                               "tokio::runtime::scheduler::multi_thread::worker::Context::park_timeout",
                               "tokio::runtime::scheduler::multi_thread::park::Parker::park"}),
            "tokio worker");
  EXPECT_EQ(rule_for("futex", {"tokio::runtime::blocking::pool::Inner::run",
                               "parking_lot::condvar::Condvar::wait_until_internal"}),
            "tokio blocking pool");
}

TEST(IdleRules, KnowThemAsTheyAreInAnOptimisedNode) {
  EXPECT_EQ(rule_for("futex",
                     {"std::sys::backtrace::__rust_begin_short_backtrace", "tokio::runtime::task::raw::poll",
                      "tokio::runtime::scheduler::multi_thread::worker::run",
                      "tokio::runtime::scheduler::multi_thread::worker::Context::park_internal",
                      "parking_lot::condvar::Condvar::wait_until_internal", "syscall"}),
            "tokio worker");
  EXPECT_EQ(rule_for("futex",
                     {"std::sys::backtrace::__rust_begin_short_backtrace",
                      "parking_lot::condvar::Condvar::wait_until_internal", "syscall"},
                     "tokio-rt-worker"),
            "tokio blocking pool");
  EXPECT_EQ(rule_for("futex",
                     {"std::sys::backtrace::__rust_begin_short_backtrace", "tokio::runtime::task::raw::poll",
                      "tokio::runtime::park::CachedParkThread::park",
                      "parking_lot::condvar::Condvar::wait_until_internal", "syscall"},
                     "tokio-rt-worker"),
            "")
      << "block_on inside of a task waits for an answer";
}

TEST(IdleRules, LeaveWaitsInsideOfATaskAlone) {
  EXPECT_EQ(rule_for("futex",
                     {"tokio::runtime::scheduler::multi_thread::worker::run",
                      "tokio::runtime::task::raw::poll", "app::handle", "std::sync::mutex::Mutex<T>::lock"}),
            "");
  EXPECT_EQ(
      rule_for("futex", {"tokio::runtime::blocking::pool::Inner::run", "tokio::runtime::task::raw::poll",
                         "app::load", "std::sync::mutex::Mutex<T>::lock"}),
      "");
}

TEST(IdleRules, KnowPoolsAndBackgroundThreads) {
  EXPECT_EQ(rule_for("futex", {"rayon_core::registry::WorkerThread::wait_until_cold",
                               "rayon_core::sleep::Sleep::sleep"}),
            "rayon worker");
  EXPECT_EQ(rule_for("futex", {"start_thread", "bioProcessBackgroundJobs", "pthread_cond_wait"}),
            "redis background thread");
  EXPECT_EQ(
      rule_for("futex", {"rocksdb::ThreadPoolImpl::Impl::BGThread(unsigned long)", "pthread_cond_wait"}),
      "RocksDB background thread");
  EXPECT_EQ(rule_for("futex", {"background_thread_entry", "pthread_cond_timedwait"}),
            "jemalloc background thread");
  EXPECT_EQ(rule_for("futex", {"start_thread", "libjemalloc.so.2@fde+0x39940"}, "jemalloc_bg_thd"),
            "jemalloc background thread");
  EXPECT_EQ(rule_for("futex", {"app::pool", "std::thread::park"}, "app-worker-3"), "parked pool thread");
  EXPECT_EQ(rule_for("futex", {"app::main", "std::thread::park"}, "main"), "");
}

TEST(IdleRules, KnowEventLoops) {
  EXPECT_EQ(rule_for("epoll_wait", {"main", "aeMain", "aeProcessEvents", "aeApiPoll", "epoll_wait"}),
            "redis event loop");
  EXPECT_EQ(rule_for("epoll_pwait", {"main", "my_loop"}), "event loop");
  EXPECT_EQ(rule_for("poll", {"main", "wait_for_answer"}), "");
  EXPECT_EQ(rule_for("accept4", {"main", "serve"}), "accept loop");
  EXPECT_EQ(rule_for("rt_sigtimedwait", {"main"}), "signal waiter");
}

TEST(IdleRules, DistinguishALatchFromALock) {
  EXPECT_EQ(rule_for("poll", {"BackgroundWriterMain", "WaitLatch", "WaitEventSetWait"}), "PostgreSQL latch");
  EXPECT_EQ(rule_for("poll", {"LockAcquire", "ProcSleep", "WaitLatch", "WaitEventSetWait"}), "");
  // The call that it really is: the lock of a row was called an idle event loop.
  EXPECT_EQ(rule_for("epoll_wait", {"heap_lock_tuple", "LockAcquireExtended", "ProcSleep", "WaitLatch"}), "");
  EXPECT_EQ(rule_for("epoll_wait", {"PostgresMain", "pg_sleep", "WaitLatch", "WaitEventSetWait"}), "");
  EXPECT_EQ(rule_for("epoll_wait", {"PostgresMain", "secure_read", "WaitEventSetWait"}), "PostgreSQL latch");
}

// Of a stripped one ServerLoop has no name. All its children have PostmasterMain on their stacks, too.
TEST(IdleRules, KnowThePostmasterOfAStrippedPostgres) {
  EXPECT_EQ(rule_for("select", {"main", "PostmasterMain", "postgres@0x3ee3c0", "select"}),
            "PostgreSQL postmaster");
  EXPECT_EQ(rule_for("select", {"main", "PostmasterMain", "PostgresMain", "pg_usleep", "select"}), "");
}

TEST(IdleRules, KnowThatFathomStoppedTheThread) {
  const auto rule_by = [](std::int32_t waker_pid, model::WaitState state) {
    HandMade hand;
    const auto row = hand.thread(hand.process(1, "app"), 1, "app");
    const auto waker = hand.thread(hand.process(waker_pid, "fathom"), waker_pid + 1, "fathom");
    const auto stack = hand.stack({hand.frame(hand.module("app"), {"main"})});
    model::Wait& wait = hand.wait(row, stack, "read", 0, 5);
    wait.state = state;
    wait.waker = waker;
    model::put_facts(model::OriginFacts{.recorder_pid = 70}, hand.profile.meta);
    const RuledWaits idle(hand.profile, built_in_idle_rules());
    const auto rule = idle.rule_of(wait, WaitCauses(hand.profile).of(wait));
    return rule ? idle.name(*rule) : "";
  };
  EXPECT_EQ(rule_by(70, model::WaitState::kTraced), "stopped by fathom");
  EXPECT_EQ(rule_by(70, model::WaitState::kStopped), "stopped by fathom");
  EXPECT_EQ(rule_by(71, model::WaitState::kTraced), "") << "a debugger, whatever its name";
  EXPECT_EQ(rule_by(70, model::WaitState::kInterruptible), "") << "it reads what fathom writes";
}

// The tracer waits for room in the ring of the thread; what the program sleeps in is its own.
TEST(IdleRules, KnowThatTheTracerWaits) {
  const auto rule_in = [](bool in_tracer) {
    HandMade hand;
    const auto row = hand.thread(hand.process(1, "app"), 1, "app");
    const auto main = hand.frame(hand.module("app"), {"main"});
    const auto tracer = hand.frame(hand.module("[fathom]", model::ModuleKind::kNames), {"(heap tracer)"});
    const auto kernel = hand.frame(hand.module("[kernel]", model::ModuleKind::kKernel), {"do_nanosleep"});
    const auto stack = in_tracer ? hand.stack({main, tracer, kernel}) : hand.stack({main, kernel});
    const model::Wait& wait = hand.wait(row, stack, "nanosleep", 0, 5);
    const RuledWaits idle(hand.profile, built_in_idle_rules());
    const auto rule = idle.rule_of(wait, WaitCauses(hand.profile).of(wait));
    return rule ? idle.name(*rule) : "";
  };
  EXPECT_EQ(rule_in(true), "waiting for fathom to read events");
  EXPECT_EQ(rule_in(false), "");
}

TEST(IdleRules, NeverCallARunQueueIdle) {
  EXPECT_EQ(rule_for("epoll_wait", {"main", "aeApiPoll"}, "redis", 0), "");
}

TEST(IdleRules, SayWhichLineIsWrong) {
  const auto error = [](std::string_view text) { return parse_wait_rules(text, "x").error().message; };
  EXPECT_THAT(error("# fine\nwait futex\n"), HasSubstr("x:2: the first line"));
  EXPECT_THAT(error("idle a\nwait tea\n"), HasSubstr("x:2: there is no cause 'tea'"));
  EXPECT_THAT(error("idle a\nwhen futex\n"), HasSubstr("x:2: 'when' is not a word"));
  EXPECT_THAT(error("idle a\nby gdb\n"), HasSubstr("x:2: 'by gdb' is not known"));
  EXPECT_THAT(error("idle a\nwait\n"), HasSubstr("x:2: nothing after 'wait'"));
  EXPECT_THAT(error("idle a\nframe f\n"), HasSubstr("'a' has no line 'wait'"));
  EXPECT_THAT(error("idle a\nwait futex\ncrowd many\n"), HasSubstr("x:3: 'many' is not a number of threads"));
}

TEST(Glob, StarsStandForAnyText) {
  EXPECT_TRUE(matches_glob("main", "main"));
  EXPECT_FALSE(matches_glob("main", "mainly"));
  EXPECT_TRUE(matches_glob("a*c*e", "abcde"));
  EXPECT_TRUE(matches_glob("*b", "abab"));
  EXPECT_FALSE(matches_glob("a*b", "abac"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_FALSE(matches_glob("", "x"));
  // Signs that the shell's patterns know stand for themselves: names have them.
  EXPECT_TRUE(matches_glob("<[u8] as *", "<[u8] as core::fmt::Debug>::fmt"));
  EXPECT_TRUE(matches_glob("*[inlined]", "call [inlined]"));
  EXPECT_FALSE(matches_glob("*[inlined]", "called"));
  EXPECT_FALSE(matches_glob("v?", "v1"));
}

}  // namespace
}  // namespace fathom::analysis
