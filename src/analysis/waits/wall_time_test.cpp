#include "analysis/waits/wall_time.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/core/hand_made_profile.h"
#include "analysis/waits/wait_report.h"
#include "model/block_reads.h"
#include "model/facts.h"
#include "model/listening_socket.h"

namespace fathom::analysis {
namespace {

WallTime wall_of(const model::Profile& profile, const Selection& selection = {}) {
  return make_wait_report(profile, selection).wall;
}

double sum_of(const WallTime& wall) {
  return wall.ran_ns + wall.queued_ns + wall.disk_ns + wall.memory_ns + wall.locks_ns + wall.peers_ns +
         wall.slept_ns + wall.unended_ns + wall.other_ns + wall.idle_ns;
}

// A program of several threads; the recording is 10 s long.
struct Program {
  HandMade hand;
  model::ProcessId process = hand.process(10, "app");
  model::ModuleId app = hand.module("app");
  model::StackId stack_of(std::string_view function) {
    return hand.stack({hand.frame(app, {std::string(function)})});
  }
  model::ThreadId thread(std::string_view name, double ran_s) {
    const auto id = hand.thread(process, static_cast<std::int32_t>(hand.profile.threads.size()) + 10, name);
    hand.profile.threads[id.value].ran_ns = static_cast<std::uint64_t>(ran_s * 1e9);
    return id;
  }
  // Waits from `from_s` to `to_s` for a condition variable, a lock ...
  model::Wait& waits(model::ThreadId thread, std::string_view function, std::string_view call, double from_s,
                     double to_s) {
    return hand.wait(thread, stack_of(function), call, from_s, 1000 * (to_s - from_s));
  }
};

constexpr double kSecond = 1e9, kNear = 1e3;

TEST(WallTime, OfOneThreadIsItsOwn) {
  Program program;
  const auto main = program.thread("app", 4);
  program.hand.wait(main, program.stack_of("save"), "fsync", 1, 3000, 500);
  program.waits(main, "pause", "nanosleep", 6, 8.5);
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_NEAR(wall.length_ns, 10 * kSecond, kNear);
  EXPECT_NEAR(wall.disk_ns, 3 * kSecond, kNear);
  EXPECT_NEAR(wall.queued_ns, 0.5 * kSecond, kNear);
  EXPECT_NEAR(wall.slept_ns, 2.5 * kSecond, kNear);
  EXPECT_NEAR(wall.ran_ns, 4 * kSecond, kNear);
}

// Its ring does not show what is in it; the I/O counters of the process do.
TEST(WallTime, OfARingIsTheDiskIfTheProcessReadsFromOne) {
  Program program;
  const auto main = program.thread("app", 1);
  for (int i = 0; i < 9; ++i) program.waits(main, "wait_for_ring", "io_uring_enter", i, i + 1).weight = 10;
  const auto disk_share = [&](const char* bytes) {
    program.hand.profile.meta.facts[model::block_reads_fact(10)] = bytes;
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(wall.disk_ns + wall.peers_ns + wall.ran_ns, 10 * kSecond, kNear);
    return wall.disk_ns / (wall.disk_ns + wall.peers_ns);
  };
  EXPECT_EQ(disk_share("368640"), 1) << "4 KiB for each of 90 waits";
  EXPECT_EQ(disk_share("4096"), 0) << "its start";
  EXPECT_EQ(disk_share(""), 0);
  program.hand.profile.meta.facts.clear();
  EXPECT_EQ(wall_of(program.hand.profile).disk_ns, 0);
}

TEST(WallTime, HasNoStopsByFathom) {
  Program program;
  const auto main = program.thread("app", 6);
  const auto fathom = program.hand.thread(program.hand.process(70, "fathom"), 71, "fathom");
  model::put_facts(model::OriginFacts{.recorder_pid = 70}, program.hand.profile.meta);
  model::Wait& stop = program.waits(main, "main", "", 2, 4);
  stop.state = model::WaitState::kTraced;
  stop.waker = fathom;
  program.waits(main, "save", "fsync", 5, 7);
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_NEAR(wall.length_ns, 8 * kSecond, kNear) << "of the 10 s of the recording";
  EXPECT_NEAR(wall.disk_ns, 2 * kSecond, kNear);
  EXPECT_NEAR(wall.ran_ns, 6 * kSecond, kNear);
}

TEST(WallTime, IsRunningWhileOneOfManyRuns) {
  Program program;
  program.thread("burner", 10);
  for (int i = 0; i < 20; ++i) program.waits(program.thread("pool", 0), "pthread_cond_wait", "futex", 0, 10);
  program.waits(program.thread("keeper", 0), "keep", "nanosleep", 0, 9.99);
  EXPECT_NEAR(wall_of(program.hand.profile).ran_ns, 10 * kSecond, kNear);
}

TEST(WallTime, IsTheDiskIfOnlyHousekeepersSleepOtherwise) {
  Program program;
  const auto writer = program.thread("writer", 1);
  for (int i = 0; i < 10; ++i) program.waits(writer, "write_block", "fsync", i, i + 0.9);
  for (int i = 0; i < 5; ++i) {
    const auto keeper = program.thread("keeper", 0);
    for (int k = 0; k < 100; ++k) program.waits(keeper, "keep", "nanosleep", k * 0.1, (k + 1) * 0.1);
  }
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_NEAR(wall.disk_ns, 9 * kSecond, kNear);
  EXPECT_EQ(wall.slept_ns, 0);
}

TEST(WallTime, PassesAWaitForAnotherThreadOnToWhatThatOneDoes) {
  for (const auto& [call, function, expected] : {std::tuple{"fsync", "save", &WallTime::disk_ns},
                                                 {"recvfrom", "ask", &WallTime::peers_ns},
                                                 {"nanosleep", "rest", &WallTime::slept_ns}}) {
    Program program;
    const auto main = program.thread("main", 0), worker = program.thread("worker", 0);
    program.waits(worker, function, call, 0, 10 - 1e-6);
    model::Wait& joined = program.waits(main, "pthread_join", "futex", 0, 10 - 1e-6);
    joined.waker = worker;
    EXPECT_NEAR(wall_of(program.hand.profile).*expected, 10 * kSecond, 1e4) << call;
  }
}

// `timeout` kills a program that waits for a notification that never comes: it was stuck, and did not sleep.
TEST(WallTime, IsStuckIfOnlyTheSignalThatKillsItEndsTheWait) {
  for (const auto& [killed, by_another] : {std::pair{true, false}, {true, true}, {false, false}}) {
    Program program;
    const auto main = program.thread("app", 0);
    model::Wait& wait = program.waits(main, "pthread_cond_wait", "futex", 0, 10 - 1e-3);
    if (by_another) wait.waker = program.hand.thread(program.hand.process(9, "timeout"), 9, "timeout");
    program.hand.profile.threads[main.value].end_ns = program.hand.profile.meta.end_ns;
    if (killed) program.hand.profile.meta.facts["end.10"] = "signal 15";
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(killed ? wall.unended_ns : wall.slept_ns, 10 * kSecond, 1e7) << killed;
  }
}

// Without BPF it is not known what ended a wait, and no reason to say that a timer did.
TEST(WallTime, IsNoSleepWhereWakersAreNotRecorded) {
  for (const char* engine : {"bpf", "perf", "proc"}) {
    Program program;
    program.hand.profile.meta.engine = engine;
    const auto main = program.thread("app", 0);
    for (int i = 0; i < 9; ++i) program.waits(main, "pthread_barrier_wait", "futex", i, i + 1);
    const WallTime wall = wall_of(program.hand.profile);
    const bool is_known = std::string_view(engine) == "bpf";
    EXPECT_NEAR(is_known ? wall.slept_ns : wall.other_ns, 9 * kSecond, 1e7) << engine;
  }
}

TEST(WallTime, CallsALockOneWhoseHolderSleeps) {
  Program program;
  const auto waiter = program.thread("waiter", 0), holder = program.thread("holder", 0);
  program.waits(holder, "sleeps_with_the_lock", "nanosleep", 0, 9);
  program.waits(waiter, "pthread_mutex_lock", "futex", 1, 9).waker = holder;
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_NEAR(wall.locks_ns, 8 * kSecond, kNear);
}

// A program that polls every 10 ms sleeps, whatever call it does that with.
TEST(WallTime, SleepsInPollsThatRunIntoTheirTimeout) {
  for (const auto& [result, expected] : {std::pair{0, &WallTime::slept_ns}, {1, &WallTime::peers_ns}}) {
    Program program;
    const auto main = program.thread("app", 0);
    for (int k = 0; k < 100; ++k)
      program.waits(main, "look", "poll", k * 0.1, (k + 1) * 0.1 - 1e-6).result = result;
    EXPECT_NEAR(wall_of(program.hand.profile).*expected, 10 * kSecond, 1e6) << result;
  }
}

TEST(WallTime, IsIdleWhereATimerEndsTheSilenceOfWorkersWithoutWork) {
  Program program;
  program.waits(program.thread("tokio-rt", 0), "tokio::runtime::scheduler::multi_thread::park::Parker::park",
                "futex", 0, 10);
  const auto keeper = program.thread("keeper", 0);
  for (int k = 0; k < 99; ++k) program.waits(keeper, "keep", "nanosleep", k * 0.1, (k + 1) * 0.1);
  program.waits(keeper, "keep", "nanosleep", 9.9, 10);
  EXPECT_NEAR(wall_of(program.hand.profile).idle_ns, 10 * kSecond, kNear);
}

// The thread that waits for the tasks is idle by its place, and so are workers without one: a sleep in a task is no housekeeping.
TEST(WallTime, IsSleptWhereATaskKeepsItsWorker) {
  Program program;
  const auto main = program.thread("app", 0), worker = program.thread("tokio-runtime-w", 1);
  const auto below = [&](const std::vector<std::string>& functions) {
    std::vector<model::FrameId> frames;
    for (const std::string& function : functions)
      frames.push_back(program.hand.frame(program.app, {function}));
    return program.hand.stack(frames);
  };
  program.hand.wait(main, below({"main", "tokio::runtime::park::CachedParkThread::block_on", "syscall"}),
                    "futex", 0, 10'000);
  const auto task = below({"tokio::runtime::scheduler::multi_thread::worker::Context::run_task",
                           "tokio::runtime::task::raw::poll", "app::handle", "std::thread::sleep"});
  program.hand.wait(worker, task, "clock_nanosleep", 1, 6000);
  const auto other = below({"app::housekeeper", "std::thread::sleep"});
  program.hand.wait(worker, other, "clock_nanosleep", 7, 3000);
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_NEAR(wall.slept_ns, 6 * kSecond, kNear);
  EXPECT_NEAR(wall.idle_ns, 3 * kSecond, kNear) << "outside of a task it is housekeeping";
}

// The four threads of libuv's pool ran a job that sleeps, twelve more jobs were queued, and the program was "idle": so was its event loop.
TEST(WallTime, IsSleptWhereAWholePoolSleeps) {
  for (const int sleepers : {1, 2, 3, 4, 8}) {
    Program program;
    program.waits(program.thread("app", 0), "event_base_loop", "epoll_wait", 0, 10);
    for (int i = 0; i < sleepers; ++i) {
      const auto worker = program.thread("worker", 0);
      for (int k = 0; k < 100; ++k)
        program.waits(worker, "blocking_lookup", "nanosleep", k * 0.1, (k + 1) * 0.1);
    }
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(sleepers > 3 ? wall.slept_ns : wall.idle_ns, 10 * kSecond, 0.2 * kSecond) << sleepers;
  }
}

TEST(WallTime, IsAWaitForThreadsThatNeverCome) {
  Program program;
  for (int i = 0; i < 3; ++i)
    program.waits(program.thread("request", 0), "pthread_cond_wait", "futex", 0, 10).unfinished = true;
  EXPECT_NEAR(wall_of(program.hand.profile).unended_ns, 10 * kSecond, kNear);
}

// The main thread sleeps in a loop, and three others wait for one that is gone.
TEST(WallTime, IsNoSleepOfOneThreadNextToManyThatNothingWakes) {
  Program program;
  const auto main = program.thread("app", 0);
  for (int i = 0; i < 10; ++i) program.waits(main, "sleep", "clock_nanosleep", i, i + 1);
  program.waits(program.thread("request", 0), "pthread_cond_wait", "futex", 0, 10).unfinished = true;
  EXPECT_NEAR(wall_of(program.hand.profile).slept_ns, 10 * kSecond, 2 * kNear) << "one of them says little";
  for (int i = 0; i < 2; ++i)
    program.waits(program.thread("request", 0), "pthread_cond_wait", "futex", 0, 10).unfinished = true;
  EXPECT_NEAR(wall_of(program.hand.profile).unended_ns, 10 * kSecond, 2 * kNear);
}

TEST(WallTime, OfWaitsThatStandForOthersFollowsTheExactSums) {
  Program program;
  const auto main = program.thread("app", 2);
  model::Thread& row = program.hand.profile.threads[main.value];
  row.waited_ns = 8'000'000'000;
  row.waits = 1000;
  row.unwalked_waits = 900;
  row.unwalked_ns = 7'200'000'000;
  for (int i = 0; i < 100; ++i) {
    model::Wait& wait = program.waits(main, "save", "fsync", i * 0.1, i * 0.1 + 0.008);
    wait.weight = 10;
  }
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_NEAR(wall.ran_ns, 2 * kSecond, 0.1 * kSecond);
  EXPECT_NEAR(wall.disk_ns, 8 * kSecond, 0.1 * kSecond);  // what follows the last of them is not known
}

// On a busy machine most of the time without a record is the queue after waits that were not walked.
TEST(WallTime, OfQueuesThatWereNotWalkedFollowsTheExactSums) {
  for (const auto& [ran_s, waited_s, queued_s] :
       {std::tuple{1.0, 2.0, 7.0}, {0.1, 9.0, 0.9}, {4.0, 5.5, 0.5}, {2.0, 0.5, 7.5}}) {
    Program program;
    const auto main = program.thread("app", ran_s);
    model::Thread& row = program.hand.profile.threads[main.value];
    row.waited_ns = static_cast<std::uint64_t>(waited_s * 1e9);
    row.queued_ns = static_cast<std::uint64_t>(queued_s * 1e9);
    row.waits = 1000;
    row.unwalked_waits = 900;
    row.unwalked_ns = static_cast<std::uint64_t>(waited_s * 0.9e9);
    for (int i = 0; i < 100; ++i)
      program.hand.wait(main, program.stack_of("save"), "fsync", i * 0.1, waited_s, queued_s).weight = 10;
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(wall.ran_ns, ran_s * kSecond, 0.2 * kSecond);
    EXPECT_NEAR(wall.queued_ns, queued_s * kSecond, 0.2 * kSecond);
    EXPECT_NEAR(wall.disk_ns, waited_s * kSecond, 0.3 * kSecond);
  }
}

// A resolver without an answer ends each wait by its timeout.
TEST(WallTime, CallsAnAnswerOfTheDnsThatNeverComesOneOfAPeer) {
  Program program;
  const auto main = program.thread("app", 0);
  for (int k = 0; k < 2; ++k) program.waits(main, "getaddrinfo", "poll", k * 5, k * 5 + 5 - 1e-6).result = 0;
  EXPECT_NEAR(wall_of(program.hand.profile).peers_ns, 10 * kSecond, 1e6);
}

TEST(WallTime, IsIdleUntilSomeoneComesToASocketThatListens) {
  for (const bool listens : {true, false}) {
    Program program;
    const auto main = program.thread("app", 0);
    for (int k = 0; k < 2; ++k) {
      model::Wait& wait = program.waits(main, "serve", "poll", k * 5, k * 5 + 5 - 1e-6);
      wait.result = 0;
      wait.object = program.hand.object(model::ObjectKind::kSocket, "a name that says nothing",
                                        listens ? model::kListens : 0);
    }
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(listens ? wall.idle_ns : wall.peers_ns, 10 * kSecond, 1e6);
  }
}

// timeout, xargs and the like wait for a signal that says that a child has ended, and not for work.
TEST(WallTime, IsNoIdlenessOfAProgramThatWaitsForTheOneItStarted) {
  for (const bool is_parent : {true, false}) {
    Program program;
    const auto child = program.hand.process(11, "child");
    program.hand.profile.processes[child.value].parent_pid = is_parent ? 10 : 1;
    program.waits(program.thread("timeout", 0), "sigsuspend", "rt_sigsuspend", 0, 10).unfinished = true;
    const auto stuck = program.hand.thread(child, 100, "child");
    for (const auto thread : {stuck, program.hand.thread(child, 101, "child")})
      program.waits(thread, "pthread_cond_wait", "futex", 0, 10).unfinished = true;
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(is_parent ? wall.unended_ns : wall.idle_ns, 10 * kSecond, kNear);
  }
}

// The end of a thread is not always seen, and one that ran for a moment does not run until the recording ends.
TEST(WallTime, OfAThreadWhoseEndIsNotKnownIsNotRunning) {
  Program program;
  for (int i = 0; i < 60; ++i) program.thread("helper", 0.001);
  const auto before_exec = program.thread("sh", 0);  // booked in the row of the program that it executes
  program.waits(before_exec, "f", "read", 1, 1.1);
  program.waits(program.thread("app", 0), "pause", "nanosleep", 0, 10 - 1e-6);
  const WallTime wall = wall_of(program.hand.profile);
  EXPECT_LE(wall.ran_ns, 0.07 * kSecond);
  EXPECT_GE(wall.slept_ns, 9.8 * kSecond);
}

TEST(WallTime, OfAWindowIsThatOfTheWindow) {
  Program program;
  const auto main = program.thread("app", 2);
  program.waits(main, "save", "fsync", 1, 9);
  const WallTime wall = wall_of(program.hand.profile, {.from_ns = 500'000'000, .to_ns = 2'000'000'000});
  EXPECT_NEAR(wall.length_ns, 1.5 * kSecond, kNear);
  EXPECT_NEAR(wall.ran_ns, 0.5 * kSecond, kNear);
  EXPECT_NEAR(wall.disk_ns, 1 * kSecond, kNear);
}

TEST(WallTime, OfPartsOfStacksIsNotKnown) {
  Program program;
  program.waits(program.thread("app", 1), "save", "fsync", 0, 9);
  Selection selection;
  selection.stacks = std::make_shared<StackChoice>();
  const Waits waits(program.hand.profile, {});
  const WaitSites sites(program.hand.profile);
  const RuledWaits reasons(program.hand.profile, built_in_wait_reasons());
  EXPECT_EQ(find_wall_time(waits, selection, reasons, sites, HandedOnFutexes(waits, sites)).length_ns, 0);
}

// Any program: the classes of each millisecond add up, and match what the threads do at it.
TEST(WallTime, AgreesWithALookAtEachMillisecond) {
  constexpr int kMilliseconds = 10'000, kThreads = 4;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    Program program;
    enum Doing : char { kRuns, kQueued, kReads, kLocked, kSleeps };
    std::vector<std::vector<Doing>> doing(kThreads, std::vector<Doing>(kMilliseconds, kRuns));
    for (auto& thread : doing) {
      const auto id = program.thread("t", 0);  // how long it ran is unknown
      for (int at = below(500); at < kMilliseconds;) {
        const int waits = std::min(1 + below(700), kMilliseconds - at),
                  queued = std::min(below(2) * below(50), kMilliseconds - at - waits);
        const Doing what = std::array{kReads, kLocked, kSleeps}[static_cast<std::size_t>(below(3))];
        std::fill_n(thread.begin() + at, waits, what);
        std::fill_n(thread.begin() + at + waits, queued, kQueued);
        program.hand
            .wait(id, program.stack_of(what == kLocked ? "pthread_mutex_lock" : "f"),
                  what == kReads    ? "pread64"
                  : what == kLocked ? "futex"
                                    : "nanosleep",
                  at * 1e-3, waits, queued)
            .object =
            what == kReads ? program.hand.object(model::ObjectKind::kFile, "x") : model::WaitObjectId{};
        at += waits + queued + below(120);
      }
    }
    double ran = 0, queued = 0, disk = 0, locks = 0, slept = 0;
    for (int at = 0; at < kMilliseconds; ++at) {
      const auto any = [&](Doing what) {
        return std::ranges::any_of(
            doing, [&](const auto& thread) { return thread[static_cast<std::size_t>(at)] == what; });
      };
      (any(kRuns) ? ran : any(kQueued) ? queued : any(kReads) ? disk : any(kLocked) ? locks : slept) += 1e6;
    }
    const WallTime wall = wall_of(program.hand.profile);
    EXPECT_NEAR(sum_of(wall), 1e10, kNear);
    EXPECT_NEAR(wall.ran_ns, ran, kNear) << seed;
    EXPECT_NEAR(wall.queued_ns, queued, kNear) << seed;
    EXPECT_NEAR(wall.disk_ns, disk, kNear) << seed;
    EXPECT_NEAR(wall.locks_ns, locks, kNear) << seed;
    EXPECT_NEAR(wall.slept_ns, slept, kNear) << seed;
  }
}

}  // namespace
}  // namespace fathom::analysis
