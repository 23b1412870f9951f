#include "analysis/waits/wait_report.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/waits/hand_made_waits.h"
#include "analysis/waits/other_locks.h"
#include "model/parked_lock.h"
#include "model/random_profile.h"
#include "present/sentences/wait_sentences.h"

namespace fathom::analysis {
namespace {

using model::ObjectKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string summary_of(const model::Profile& profile, const Selection& selection = {}) {
  return fmt::format("{}", fmt::join(present::sentences_of(make_wait_report(profile, selection)), " "));
}

// Two threads, two locks and a log file.
struct TwoThreads : HandMade {
  TwoThreads() {
    const auto process = HandMade::process(10, "app");
    main = thread(process, 10, "main");
    worker = thread(process, 11, "worker");
    writer = thread(process, 12, "writer");
    const auto app = module("app");
    const auto libc = module("libc.so.6");
    lock = frame(libc, {"pthread_mutex_lock"});
    in_main = stack({frame(app, {"main"}), frame(app, {"get"}), lock});
    in_worker = stack({frame(app, {"work"}), lock});
    unlocking = stack({frame(app, {"work"}), frame(app, {"release"}), frame(libc, {"pthread_mutex_unlock"})});
    syncing = stack({frame(app, {"flush"}), frame(libc, {"fsync"})});
    a = object(ObjectKind::kFutex, "", 0x1000);
    b = object(ObjectKind::kFutex, "", 0x2000);
    log = object(ObjectKind::kFile, "/data/x.log");
  }
  model::ThreadId main, worker, writer;
  model::FrameId lock;
  model::StackId in_main, in_worker, unlocking, syncing;
  model::WaitObjectId a, b, log;
};

TEST(WaitSummary, SaysWhereTheWallTimeOfAThreadGoes) {
  const std::string text = summary_of(waiting_server(), {.fold_idle = true});
  EXPECT_THAT(text,
              HasSubstr("38.0 % of the wall time of `engine` is blocked in page faults of `mdbx.dat`."));
  EXPECT_THAT(
      text,
      HasSubstr("of thread time (4 threads), 6.2 % ran, 93.2 % waited, 0.50 % waited in the run queue"));
  EXPECT_THAT(text, HasSubstr("; 50.0 % was idle (workers without work)"));
}

TEST(WaitThreads, ThatDidNothingAreNotCounted) {
  model::Profile profile = waiting_server();
  model::Thread announced = profile.threads.front();
  announced.cpu_ns = announced.ran_ns = announced.waited_ns = announced.queued_ns = 0;
  profile.threads.push_back(announced);
  EXPECT_THAT(summary_of(profile), HasSubstr("of thread time (4 threads)"));
}

TEST(WaitThreads, AddUpToTheirLife) {
  const WaitReport report = make_wait_report(waiting_server(), {});
  ASSERT_THAT(report.threads, SizeIs(3));
  EXPECT_EQ(report.threads[0].name, "engine");
  EXPECT_TRUE(report.threads[0].exact);
  EXPECT_DOUBLE_EQ(report.threads[0].wall_ns(), 10e9);
  EXPECT_EQ(report.threads[2].name, "tokio-rt");
  EXPECT_EQ(report.threads[2].threads, 2u);
  EXPECT_DOUBLE_EQ(report.threads[2].idle_ns, report.threads[2].waited_ns);
}

TEST(WaitThreads, InAWindowAreMadeOfSamplesAndWaits) {
  TwoThreads hand;
  hand.sample(hand.main, hand.in_main, 10);  // 100 ms
  hand.wait(hand.main, hand.in_main, "futex", 0.5, 1000, 0, hand.a);
  const WaitReport report = make_wait_report(hand.profile, {.to_ns = 1'000'000'000});
  EXPECT_FALSE(report.threads[0].exact);
  EXPECT_DOUBLE_EQ(report.threads[0].ran_ns, 100e6);
  EXPECT_DOUBLE_EQ(report.threads[0].waited_ns, 500e6);
}

TEST(Contention, IsTheSameByObjectAndByPlace) {
  TwoThreads hand;
  for (int i = 0; i < 3; ++i) {
    model::Wait& wait = hand.wait(hand.main, hand.in_main, "futex", i, 10 * (i + 1), 0, hand.a);
    wait.argument = 128 | 9;
    wait.waker = hand.worker;
    wait.waker_stack = hand.unlocking;
  }
  hand.wait(hand.worker, hand.in_worker, "futex", 5, 7, 0, hand.a);
  hand.wait(hand.worker, hand.in_worker, "futex", 6, 2, 0, hand.b);
  const WaitReport report = make_wait_report(hand.profile, {});
  const Contention& locks = report.locks;
  ASSERT_THAT(locks.by_object, SizeIs(2));
  const ContentionRow& worst = locks.by_object[0];
  EXPECT_EQ(worst.address, 0x1000u);
  EXPECT_EQ(worst.operation, "wait-bitset");
  EXPECT_TRUE(worst.is_private);
  EXPECT_EQ(worst.kind, FutexKind::kLock);
  EXPECT_EQ(worst.waits.sum().total_ns(), 67'000'000);
  EXPECT_EQ(worst.waits.quantile_ns(0.5), 10'000'000u);
  ASSERT_THAT(worst.waiters, SizeIs(2));
  EXPECT_EQ(worst.waiters[0].thread, "main");
  EXPECT_EQ(worst.waiters[0].site, "get");
  EXPECT_EQ(worst.waiters[0].sum.waits(), 3);
  EXPECT_EQ(worst.releasers[0].thread, "worker");
  EXPECT_EQ(worst.releasers[0].site, "release");
  ASSERT_THAT(locks.by_site, SizeIs(2));
  EXPECT_EQ(locks.by_site[0].name, "get");
  EXPECT_EQ(locks.by_site[1].name, "work");
  EXPECT_EQ(locks.by_site[1].waits.sum().total_ns(), 9'000'000);
}

// parking_lot: two threads that wait for one lock wait at two futexes, their own.
TEST(Contention, IsOfTheLockAndNotOfTheThreadsParker) {
  HandMade hand;
  const auto process = hand.process(10, "app");
  const auto first = hand.thread(process, 11, "a"), second = hand.thread(process, 12, "b");
  const auto app = hand.module("app");
  const auto parked = hand.stack({hand.frame(app, {"app::main"}), hand.frame(app, {"app::Table::get"}),
                                  hand.frame(app, {"parking_lot::raw_mutex::RawMutex::lock_slow"})});
  hand.wait(first, parked, "futex", 1, 10, 0, hand.object(ObjectKind::kFutex, "", 0x1000));
  hand.wait(second, parked, "futex", 1, 30, 0, hand.object(ObjectKind::kFutex, "", 0x2000));
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.locks.by_object, SizeIs(1));
  EXPECT_EQ(report.locks.by_object[0].name, "parked in app::Table::get");
  EXPECT_EQ(report.locks.by_object[0].address, 0u);
  EXPECT_EQ(report.locks.by_object[0].waits.sum().total_ns(), 40'000'000);
}

// The recorder has read the keys: two locks of one place, and holds that are known by turns.
TEST(Contention, IdentifiesLocksOfParkedThreadsByTheirKeys) {
  HandMade hand;
  const auto process = hand.process(10, "app");
  const auto first = hand.thread(process, 11, "a"), second = hand.thread(process, 12, "b");
  const auto app = hand.module("app");
  const auto parked = hand.stack({hand.frame(app, {"app::main"}), hand.frame(app, {"app::Table::get"}),
                                  hand.frame(app, {"parking_lot::raw_mutex::RawMutex::lock_slow"})});
  const auto lock = hand.object(ObjectKind::kFutex, model::kParkedLock, 0x5001);
  const auto other = hand.object(ObjectKind::kFutex, model::kParkedLock, 0x5002);
  hand.wait(first, parked, "futex", 1.000, 10, 0, lock).waker = second;
  hand.wait(second, parked, "futex", 1.005, 20, 0, lock).waker = first;  // which had it for 15 ms
  hand.wait(first, parked, "futex", 2, 7, 0, other).waker = second;
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.locks.by_object, SizeIs(2));
  EXPECT_EQ(report.locks.by_object[0].address, 0x5001u);
  EXPECT_EQ(report.locks.by_object[0].name, "0x5001 of pid 10");
  EXPECT_EQ(report.locks.by_object[0].waits.sum().total_ns(), 30'000'000);
  EXPECT_NEAR(static_cast<double>(report.locks.by_object[0].holds.sum().total_ns()), 15e6, 1e3);
  EXPECT_EQ(report.locks.by_object[1].address, 0x5002u);
}

// RawRwLock::wait_for_readers parks the writer at the lock's address plus one.
TEST(Contention, BothQueuesOfAReaderWriterLockAreOneLock) {
  HandMade hand;
  const auto process = hand.process(10, "app");
  const auto thread = hand.thread(process, 11, "a");
  const auto app = hand.module("app");
  const auto parked =
      hand.stack({hand.frame(app, {"app::main"}),
                  hand.frame(app, {"parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow"})});
  hand.wait(thread, parked, "futex", 1, 10, 0, hand.object(ObjectKind::kFutex, model::kParkedLock, 0x5000));
  hand.wait(thread, parked, "futex", 2, 10, 0, hand.object(ObjectKind::kFutex, model::kParkedLock, 0x5001));
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.locks.by_object, SizeIs(1));
  EXPECT_EQ(report.locks.by_object[0].address, 0x5000u);
}

// main gets the lock at 1.010, and lets worker have it at 1.025; worker lets main have it at 1.055.
TEST(Contention, ReportsHowLongTheLockWasHeld) {
  TwoThreads hand;
  const auto wait = [&](model::ThreadId thread, model::StackId stack, double at_s, double ms,
                        model::ThreadId waker) {
    hand.wait(thread, stack, "futex", at_s, ms, 0, hand.a).waker = waker;
  };
  wait(hand.main, hand.in_main, 1.0, 10, hand.writer);
  wait(hand.worker, hand.in_worker, 1.005, 20, hand.main);
  wait(hand.main, hand.in_main, 1.030, 25, hand.worker);
  wait(hand.writer, hand.in_worker, 3.0, 5, hand.worker);  // which took it again without waiting
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.locks.by_object, SizeIs(1));
  const Distribution& holds = report.locks.by_object[0].holds;
  EXPECT_EQ(holds.sum().walked(), 2u) << "of the writer, who had not waited, nothing is known";
  EXPECT_NEAR(static_cast<double>(holds.quantile_ns(0.5)), 15e6, 1e3);
  EXPECT_NEAR(static_cast<double>(holds.sum().max_ns()), 30e6, 1e3);
}

TEST(WaitReasons, HaveTheirPlaceAndTheirEvidence) {
  TwoThreads hand;
  const auto app = hand.module("app");
  const auto reading = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"Table::get"}),
                                   hand.frame(hand.module("libc.so.6"), {"pthread_rwlock_rdlock"})});
  hand.wait(hand.main, reading, "futex", 1, 40, 0, hand.a);
  hand.wait(hand.worker, reading, "futex", 1, 60, 0, hand.a);
  hand.wait(hand.worker, hand.in_worker, "futex", 2, 500, 0, hand.b);
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.reasons, SizeIs(1));
  EXPECT_EQ(report.reasons[0].reason, "a reader-writer lock");
  EXPECT_EQ(report.reasons[0].site, "Table::get");
  EXPECT_EQ(report.reasons[0].evidence, "pthread_rwlock_rdlock");
  EXPECT_EQ(report.reasons[0].threads, 2u);
  EXPECT_EQ(report.reasons[0].sum.total_ns(), 100'000'000);
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("waiting for a reader-writer lock in `Table::get`."));
}

// The recording lasts 10 s.
TEST(WaitReasons, CallSyncsFrequentFromTenASecondOn) {
  TwoThreads hand;
  for (int i = 0; i < 99; ++i) hand.wait(hand.writer, hand.syncing, "fsync", 0.05 * i, 2, 0, hand.log);
  EXPECT_THAT(make_wait_report(hand.profile, {}).reasons, SizeIs(0));
  for (int i = 0; i < 111; ++i)
    hand.wait(hand.writer, hand.syncing, "fdatasync", 5 + 0.03 * i, 2, 0, hand.log);
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.reasons, SizeIs(1));
  EXPECT_EQ(report.reasons[0].reason, "frequent syncs: 21 a second");
  EXPECT_EQ(report.reasons[0].site, "flush");
  EXPECT_EQ(report.reasons[0].evidence, "/data/x.log");
}

TEST(Contention, LeavesAnIdlePoolApart) {
  const WaitReport report = make_wait_report(waiting_server(), {});
  ASSERT_THAT(report.locks.by_object, SizeIs(1));
  EXPECT_EQ(report.locks.by_object[0].address, 0x7f0000001000u);
  ASSERT_THAT(report.idle, SizeIs(1));
  EXPECT_EQ(report.idle[0].name, "tokio worker");
  EXPECT_EQ(report.idle[0].threads, 2u);
  EXPECT_EQ(report.idle[0].sum.total_ns(), 20'000'000'000);
}

TEST(Contention, SeparatesLocksFromConditions) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto kind = [&](const std::vector<std::string>& functions) {
    std::vector<model::FrameId> frames;
    for (const std::string& function : functions) frames.push_back(hand.frame(app, {function}));
    const auto stack = hand.stack(frames);
    return WaitSites(hand.profile).futex_kind(stack);
  };
  EXPECT_EQ(kind({"main", "pthread_mutex_lock"}), FutexKind::kLock);
  EXPECT_EQ(
      kind({"main", "parking_lot::raw_mutex::RawMutex::lock_slow", "parking_lot_core::parking_lot::park"}),
      FutexKind::kLock);
  EXPECT_EQ(kind({"main", "pthread_cond_timedwait"}), FutexKind::kCondition);
  EXPECT_EQ(kind({"main", "std::sync::condvar::Condvar::wait", "syscall"}), FutexKind::kCondition);
  for (const char* join : {"pthread_join", "__pthread_clockjoin_ex", "std::thread::join()",
                           "std::thread::JoinInner<()>::join", "thrd_join"})
    EXPECT_EQ(kind({"main", join}), FutexKind::kJoin) << join;
  for (const char* other : {"join_lines", "rejoin_cluster", "string_join"})
    EXPECT_EQ(kind({"main", other, "__lll_lock_wait"}), FutexKind::kLock) << other;
  EXPECT_EQ(kind({"main", "PosixSemaphore::wait()", "__new_sem_wait_slow64"}), FutexKind::kSemaphore);
  EXPECT_EQ(kind({"main", "sem_timedwait"}), FutexKind::kSemaphore);
  EXPECT_EQ(kind({"main", "pthread_barrier_wait"}), FutexKind::kBarrier);
  EXPECT_EQ(kind({"main", "pthread_rwlock_rdlock"}), FutexKind::kReaderWriter);
  EXPECT_EQ(kind({"main", "std::shared_mutex::lock()"}), FutexKind::kReaderWriter);
  EXPECT_EQ(kind({"main", "std::thread::park"}), FutexKind::kPark);
  // An interpreter's lock has a holder, whatever it is made of.
  EXPECT_EQ(kind({"main", "_PyEval_EvalFrameDefault", "take_gil", "PyCOND_TIMEDWAIT",
                  "pthread_cond_timedwait", "__pthread_cond_wait_common", "__futex_abstimed_wait_common"}),
            FutexKind::kLock);
  EXPECT_EQ(kind({"main", "rb_mutex_synchronize", "[libruby-3.1+0x2142f0]", "[libruby-3.1+0x20ff90]",
                  "[libruby-3.1+0x20fd80]", "rb_native_cond_wait", "pthread_cond_wait",
                  "__pthread_cond_wait_common"}),
            FutexKind::kLock)
      << "Ruby's Mutex";
  EXPECT_EQ(kind({"main", "ObjectMonitor::enter(JavaThread*)", "ObjectMonitor::EnterI(JavaThread*)",
                  "os::PlatformEvent::park()", "pthread_cond_wait"}),
            FutexKind::kLock)
      << "Java's synchronized";
  EXPECT_EQ(kind({"main", "JVM_MonitorWait", "ObjectMonitor::wait(long, bool, JavaThread*)",
                  "os::PlatformEvent::park()", "pthread_cond_wait"}),
            FutexKind::kCondition)
      << "Object.wait";
  EXPECT_EQ(kind({"main", "serve", "PyThread_acquire_lock_timed", "pthread_cond_timedwait"}),
            FutexKind::kCondition);
  EXPECT_EQ(kind({"main", "take_gil", "a", "b", "c", "d", "e", "wait_for_work", "pthread_cond_timedwait"}),
            FutexKind::kCondition)
      << "far out it is about something else";
  // Rust inlines all of its library but the way to lock.
  EXPECT_EQ(
      kind({"main", "codegen", "<std::sync::mpmc::list::Channel<Message>>::recv::{closure#1}", "syscall"}),
      FutexKind::kChannel);
  EXPECT_EQ(kind({"main", "do_thin_lto", "std::sync::mpsc::Receiver<T>::recv", "syscall"}),
            FutexKind::kChannel);
  EXPECT_EQ(kind({"main", "mine_block", "clock_tick", "spawn_helper::{closure#1}", "syscall"}),
            FutexKind::kPark);
  EXPECT_EQ(kind({"main", "std::sys::sync::mutex::futex::Mutex::lock_contended", "syscall"}),
            FutexKind::kLock);
  EXPECT_EQ(kind({"main", "Spin::acquire", "syscall"}), FutexKind::kLock);
  EXPECT_EQ(kind({"main", "SpinLock::enter", "syscall"}), FutexKind::kLock);
  EXPECT_EQ(kind({"main", "[app+0x1234]", "syscall"}), FutexKind::kLock) << "a stripped program may lock";
  EXPECT_EQ(kind({"main", "serve"}), FutexKind::kLock) << "libc without names";
  (void)thread;
}

// Of generated code without names there are several versions; what it asked the runtime for is the same in all of them.
TEST(WaitSites, OfGeneratedCodeAreWhatItAskedTheRuntimeFor) {
  HandMade hand;
  const auto libjvm = hand.module("libjvm.so"), libc = hand.module("libc.so.6");
  const auto jit = hand.module("", model::ModuleKind::kAnonymous, model::SymbolSource::kNone);
  const auto park = hand.frame(libc, {"pthread_cond_wait"});
  const auto enter = hand.frame(libjvm, {"InterpreterRuntime::monitorenter(JavaThread*, BasicObjectLock*)"});
  const auto stack = hand.stack({hand.unnamed(jit, 0x7f9988), hand.unnamed(jit, 0x7f9989), enter, park});
  EXPECT_EQ(WaitSites(hand.profile).of(stack),
            "InterpreterRuntime::monitorenter(JavaThread*, BasicObjectLock*)");
}

TEST(WaitSites, AreInTheProgramsOwnCode) {
  TwoThreads hand;
  const auto only_lock = hand.stack({hand.lock});
  WaitSites sites(hand.profile);
  EXPECT_EQ(sites.of(hand.in_main), "get");
  EXPECT_EQ(sites.of(only_lock), "pthread_mutex_lock");
  EXPECT_EQ(sites.of({0}), "[no stack]");
  EXPECT_EQ(sites.path(hand.in_main, 2), "pthread_mutex_lock < get < ...");
  EXPECT_EQ(sites.path(hand.in_main, 9), "pthread_mutex_lock < get < main");
}

TEST(WaitSites, AreAmongTheCallsThatAreShown) {
  TwoThreads hand;
  const auto hidden = choose_stacks(hand.profile, {}, {}, {{"get"}, {}}).value();
  WaitSites sites(hand.profile, hidden.get());
  EXPECT_EQ(sites.of(hand.in_main), "main");
  EXPECT_EQ(sites.path(hand.in_main, 9), "pthread_mutex_lock < main");
  const auto nothing = choose_stacks(hand.profile, {}, {}, {{"/./"}, {}}).value();
  EXPECT_EQ(WaitSites(hand.profile, nothing.get()).of(hand.in_main), "[no stack]");
}

// What --focus leaves: the time of threads is that of the stacks that are taken.
TEST(WaitReport, OfChosenStacksIsAboutTheseAlone) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.profile.threads[thread.value].waited_ns = 40'000'000;
  hand.profile.threads[thread.value].ran_ns = 100'000'000;
  const auto app = hand.module("app");
  hand.wait(thread, hand.stack({hand.frame(app, {"read_page"})}), "nanosleep", 1, 30);
  hand.wait(thread, hand.stack({hand.frame(app, {"other"})}), "nanosleep", 2, 10);
  Selection selection;
  selection.stacks = choose_stacks(hand.profile, {"read_page"}, {}).value();
  const WaitReport report = make_wait_report(hand.profile, selection);
  ASSERT_EQ(report.threads.size(), 1u);
  EXPECT_EQ(report.threads[0].waited_ns, 30e6);
  EXPECT_EQ(report.threads[0].ran_ns, 0);
}

// Each process has a semaphore of its own, whatever lock it waits for.
TEST(Contention, IsNotOfTheSemaphoreOfAProcessOfPostgres) {
  HandMade hand;
  const auto process = hand.process(10, "postgres");
  const auto thread = hand.thread(process, 10, "postgres");
  const auto postgres = hand.module("postgres");
  const auto parked =
      hand.stack({hand.frame(postgres, {"XLogFlush"}), hand.frame(postgres, {"LWLockAcquireOrWait"}),
                  hand.frame(postgres, {"PGSemaphoreLock"})});
  hand.wait(thread, parked, "futex", 1, 10, 0, hand.object(ObjectKind::kFutex, "", 0x1000));
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.locks.by_object, SizeIs(1));
  EXPECT_EQ(report.locks.by_object[0].name, "parked in XLogFlush");
}

// Who waits for the lock of SQLite sleeps between two tries, and for a row of PostgreSQL it polls.
TEST(OtherLocks, AreThoseThatAreNoFutexes) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(10, "shop"), 10, "shop");
  const auto shop = hand.module("shop"), sqlite = hand.module("libsqlite3.so.0");
  const auto main = hand.frame(shop, {"main"}), store = hand.frame(shop, {"store_order"});
  const auto busy = hand.stack({main, store, hand.frame(sqlite, {"sqlite3InvokeBusyHandler"})});
  hand.wait(thread, busy, "clock_nanosleep", 0, 30);
  hand.wait(thread, hand.stack({main, store}), "clock_nanosleep", 0, 500);
  hand.wait(thread, hand.stack({main, store}), "flock", 0, 20, 0,
            hand.object(ObjectKind::kFile, "/run/shop.lock"));
  hand.wait(thread, hand.stack({main, store}), "futex", 0, 10, 0,
            hand.object(ObjectKind::kFutex, "", 0x1000));
  const WaitReport report = make_wait_report(hand.profile, {});
  const std::vector<OtherLockRow> rows = other_locks(report);
  ASSERT_THAT(rows, SizeIs(2)) << "neither a sleep nor a futex";
  EXPECT_EQ(rows[0].lock, "the lock of a database (SQLite)");
  EXPECT_NE(rows[0].place, "");
  EXPECT_EQ(rows[0].row->sum.total_ns(), 30'000'000);
  EXPECT_EQ(rows[1].lock, "the lock of shop.lock");
  EXPECT_EQ(rows[1].place, "store_order");
}

TEST(Contention, SaysNothingOfWhereAThreadOfRustBegan) {
  HandMade hand;
  const auto process = hand.process(10, "node");
  const auto thread = hand.thread(process, 10, "node");
  const auto node = hand.module("node");
  const auto waits =
      hand.stack({hand.frame(node, {"node::serve"}), hand.frame(node, {"parking_lot::RawMutex::lock"})});
  hand.wait(thread, waits, "futex", 0, 10, 0, hand.object(ObjectKind::kFutex, "", 0x1000));
  model::Wait& wait = hand.profile.waits.back();
  wait.waker = hand.thread(process, 11, "worker");
  wait.waker_stack = hand.stack({hand.frame(node, {"std::sys::backtrace::__rust_begin_short_backtrace"})});
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.locks.by_site, SizeIs(1));
  ASSERT_THAT(report.locks.by_site[0].releasers, SizeIs(1));
  EXPECT_EQ(report.locks.by_site[0].releasers[0].thread, "worker");
  EXPECT_EQ(report.locks.by_site[0].releasers[0].site, "");
}

TEST(Chains, DistinguishThreadsOfOneNameByTheirNumbers) {
  TwoThreads hand;
  const auto other = hand.thread({0}, 14, "worker");
  hand.wait(hand.worker, hand.in_worker, "futex", 1, 40, 0, hand.a).waker = other;
  hand.wait(other, hand.syncing, "fsync", 1.001, 38, 0, hand.log);
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.chains, SizeIs(1));
  EXPECT_EQ(
      present::in_words(report.chains[0]),
      "worker (11) waited 40 ms for worker (14) (futex wait in work) <- worker (14) waited 38 ms (fsync of "
      "/data/x.log in flush)");
}

TEST(Chains, FollowTheWakerThroughItsOwnWaits) {
  TwoThreads hand;
  model::Wait& first = hand.wait(hand.main, hand.in_main, "futex", 1, 40, 0, hand.a);
  first.waker = hand.worker;
  model::Wait& second = hand.wait(hand.worker, hand.in_worker, "futex", 1.001, 38, 0, hand.b);
  second.waker = hand.writer;
  hand.wait(hand.writer, hand.syncing, "fsync", 0.9, 138, 0, hand.log);
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.chains, SizeIs(2));  // of main, and of worker
  EXPECT_EQ(present::in_words(report.chains[0]),
            "main waited 40 ms for worker (futex wait in get) <- worker waited 38 ms for writer (futex wait "
            "in work) "
            "<- writer waited 37 ms (fsync of /data/x.log in flush)");
  EXPECT_EQ(report.chains[0].sum.walked(), 1u);
}

TEST(Chains, EndWhereTheWakerDidNotWait) {
  TwoThreads hand;
  hand.wait(hand.main, hand.in_main, "futex", 1, 40, 0, hand.a).waker = hand.worker;
  hand.wait(hand.worker, hand.in_worker, "futex", 1.001, 2, 0, hand.b);    // too short to matter
  hand.wait(hand.worker, hand.in_worker, "futex", 1.030, 100, 0, hand.b);  // over after main was woken
  EXPECT_THAT(make_wait_report(hand.profile, {}).chains, SizeIs(0));
}

TEST(Chains, DoNotBelieveInTheWakerOfATimer) {
  TwoThreads hand;
  hand.wait(hand.main, hand.in_main, "nanosleep", 1, 40).waker = hand.worker;
  hand.wait(hand.worker, hand.syncing, "fsync", 1.001, 38, 0, hand.log);
  EXPECT_THAT(make_wait_report(hand.profile, {}).chains, SizeIs(0));
}

TEST(Chains, DoNotGoInCircles) {
  TwoThreads hand;
  hand.wait(hand.main, hand.in_main, "futex", 1, 40, 0, hand.a).waker = hand.worker;
  hand.wait(hand.worker, hand.in_worker, "futex", 1.0, 39, 0, hand.b).waker = hand.main;
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.chains, SizeIs(1));
  EXPECT_THAT(report.chains[0].hops, SizeIs(2));
}

TEST(Files, HaveTimesBytesAndStacks) {
  TwoThreads hand;
  for (int i = 0; i < 4; ++i) {
    model::Wait& wait = hand.wait(hand.writer, hand.syncing, "pread64", i, 5, 0, hand.log);
    wait.argument = 4096;
    wait.weight = 2;
    if (i < 2) wait.result = i == 0 ? 4000 : -5;  // EIO
    if (i == 2) wait.result = -512;               // interrupted, and goes on
  }
  hand.wait(hand.writer, hand.in_worker, "fsync", 5, 3, 0, hand.log).result = 0;
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.files, SizeIs(2));
  const FileRow& read = report.files[0];
  EXPECT_EQ(read.name, "/data/x.log");
  EXPECT_EQ(read.cause, Cause::kFileRead);
  EXPECT_EQ(read.waits.sum().total_ns(), 40'000'000);
  EXPECT_EQ(read.bytes_asked, 4 * 2 * 4096);
  EXPECT_EQ(read.returned.calls, 2 * 2);
  EXPECT_EQ(read.returned.bytes, 2 * 4000);
  EXPECT_EQ(read.returned.failed, 2);
  ASSERT_THAT(read.stacks, SizeIs(1));
  EXPECT_EQ(read.stacks[0].path, "fsync < flush");
  EXPECT_EQ(read.stacks[0].returned.bytes, 2 * 4000);
  EXPECT_EQ(report.files[1].cause, Cause::kFileSync);
  EXPECT_EQ(report.files[1].bytes_asked, 0);
  EXPECT_EQ(report.files[1].returned.calls, 1);
  EXPECT_EQ(report.files[1].returned.bytes, 0);
}

TEST(Files, CountFaultsWithAndWithoutTheWait) {
  TwoThreads hand;
  const auto data = hand.object(ObjectKind::kMappedFile, "/data/x.db");
  const auto heap = hand.object(ObjectKind::kMemory, "[heap]");
  hand.wait(hand.main, hand.in_main, "", 1, 5, 0, data).state = model::WaitState::kUninterruptible;
  const auto fault = [&](model::WaitObjectId object, bool major, std::uint32_t weight, double at_s) {
    model::Fault row;
    row.time_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9);
    row.thread = hand.main;
    row.stack = hand.in_main;
    row.object = object;
    row.major = major;
    row.weight = weight;
    hand.profile.faults.push_back(row);
  };
  fault(data, true, 1, 1);
  fault(data, true, 1, 2);
  fault(data, false, 64, 2);
  fault(heap, false, 64, 3);
  const auto files = make_wait_report(hand.profile, {}).files;
  double major = 0, minor = 0;
  for (const FileRow& row : files) {
    major += row.faults.major;
    minor += row.faults.minor;
    if (row.name == "[heap]") {
      EXPECT_EQ(row.waits.sum().walked(), 0u);
      EXPECT_EQ(row.stacks.at(0).faults.minor, 64);
    }
  }
  EXPECT_EQ(major, 2);
  EXPECT_EQ(minor, 128);
  const auto early = make_wait_report(hand.profile, {.to_ns = 1'500'000'000}).files;
  ASSERT_THAT(early, SizeIs(1));
  EXPECT_EQ(early[0].faults.major, 1);
  EXPECT_EQ(early[0].faults.minor, 0);
}

// Of any profile: the causes and the idle waits hold all of the time, each once.
TEST(WaitReport, LosesNoTime) {
  model::for_each_profile(60, [](const model::Profile& profile) {
    const WaitReport report = make_wait_report(profile, {});
    double causes = 0, blocked = 0;
    for (const CauseRow& row : report.causes)
      causes += static_cast<double>(row.waits.sum().total_ns()) + static_cast<double>(row.idle.total_ns());
    for (const BlockedRow& row : report.blocked) blocked += static_cast<double>(row.sum.total_ns());
    const double all =
        static_cast<double>(report.waited.total_ns()) + static_cast<double>(report.queued.total_ns());
    if (all > 4e18) return;  // beyond what sums can hold
    EXPECT_NEAR(causes, all, 1e-9 * all);
    EXPECT_NEAR(blocked + static_cast<double>(report.idle_waits.total_ns()), all, 1e-9 * all);
  });
}

}  // namespace
}  // namespace fathom::analysis
