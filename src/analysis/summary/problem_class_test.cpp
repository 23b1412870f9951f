#include "analysis/summary/problem_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/stacks/kept_look.h"
#include "analysis/waits/hand_made_waits.h"
#include "model/wait_sums.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/problem_sentences.h"
#include "present/sentences/waiting_sentence.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A thread that lives for the 10 s of the recording: it ran, stood in the queue, and the rest it waited so.
struct Life {
  double ran_s = 0, queued_s = 0;
  std::string_view call = {};
  std::vector<std::string> functions = {"main"};
  model::ObjectKind object = model::ObjectKind::kNone;
};

struct Judged {
  ProblemKind kind;
  std::string sentence;
};
Judged judge(const Life& life, const std::vector<std::string>& kernel = {}) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app"), system = hand.module("[kernel]", model::ModuleKind::kKernel);
  std::vector<model::FrameId> frames, running{hand.frame(app, {"main"})};
  for (const std::string& function : life.functions) frames.push_back(hand.frame(app, {function}));
  for (const std::string& function : kernel) running.push_back(hand.frame(system, {function}));
  const double waited_s = 10 - life.ran_s - life.queued_s;
  model::Thread& row = hand.profile.threads[thread.value];
  row.cpu_ns = row.ran_ns = static_cast<std::uint64_t>(life.ran_s * 1e9);
  row.queued_ns = static_cast<std::uint64_t>(life.queued_s * 1e9);
  row.waited_ns = static_cast<std::uint64_t>(waited_s * 1e9);
  hand.sample(thread, hand.stack(running), static_cast<int>(100 * life.ran_s));
  const auto object =
      life.object == model::ObjectKind::kNone ? model::WaitObjectId{} : hand.object(life.object, "x");
  hand.wait(thread, hand.stack(frames), life.call, 0, 1000 * waited_s, 1000 * life.queued_s, object);
  const auto report = make_report(hand.profile, {}).value();
  const ProblemClass problem = classify(report);
  return {problem.kind, present::sentence_of(problem)};
}

TEST(ProblemClass, IsWhatTakesTheActiveTime) {
  EXPECT_EQ(judge({.ran_s = 9, .call = "futex"}).kind, ProblemKind::kCpu);
  EXPECT_EQ(judge({.ran_s = 1, .call = "futex"}).kind, ProblemKind::kLocks);
  EXPECT_EQ(judge({.ran_s = 1, .call = "fsync"}).kind, ProblemKind::kDisk);
  EXPECT_EQ(judge({.ran_s = 1, .call = "recvfrom"}).kind, ProblemKind::kPeers);
  EXPECT_EQ(judge({.ran_s = 1, .call = "nanosleep"}).kind, ProblemKind::kSleep);
  EXPECT_EQ(judge({.ran_s = 2, .queued_s = 7, .call = "futex"}).kind, ProblemKind::kRunQueue);
  EXPECT_EQ(judge({.ran_s = 5, .queued_s = 4, .call = "futex"}).kind, ProblemKind::kCpuAndRunQueue);
}

// A thread that spins with sched_yield puts itself into the run queue.
TEST(ProblemClass, SaysWhenThreadsGiveUpTheirCpusThemselves) {
  for (const auto& [call, yields] : {std::pair{"sched_yield", true}, {"futex", false}, {"", false}}) {
    const Judged judged = judge({.ran_s = 1, .queued_s = 9, .call = call});
    EXPECT_EQ(judged.kind, ProblemKind::kRunQueue);
    EXPECT_EQ(judged.sentence.find("sched_yield") != std::string::npos, yields) << judged.sentence;
  }
}

// Each cause that reaches its threshold is in the sentence, and the largest decides.
TEST(ProblemClass, NamesEachKindThatReachesItsThreshold) {
  struct Row {
    Life life;
    std::string_view further;  // "": none
  };
  for (const Row& row : std::vector<Row>{
           {{.ran_s = 1, .queued_s = 5, .call = "fsync"}, "also disk-bound (40 % of the busy time)"},
           {{.ran_s = 0.5, .queued_s = 3.5, .call = "recvfrom"},
            "also short of CPUs (88 % of the time that threads could run)"},
           {{.ran_s = 3, .queued_s = 3.5, .call = "nanosleep"}, "also sleeping (35 % of the busy time)"},
           {{.ran_s = 3, .queued_s = 3.5, .call = "futex"}, "also lock-bound (35 % of the busy time)"},
           {{.ran_s = 1, .queued_s = 7, .call = "fsync"},
            "also disk-bound (67 % of the busy time outside the run queue)"},
           {{.ran_s = 2.5, .queued_s = 7, .call = "fsync"}, ""},
           {{.ran_s = 8, .call = "fsync"}, ""},
           {{.ran_s = 1, .call = "fsync"}, ""}}) {
    const Judged judged = judge(row.life);
    if (row.further.empty())
      EXPECT_EQ(judged.sentence.find("also"), std::string::npos) << judged.sentence;
    else
      EXPECT_THAT(judged.sentence, HasSubstr(row.further));
  }
}

// On a busy machine a program does everything later, and what it does takes the same part of its CPU time.
TEST(ProblemClass, OfAProgramShortOfCpusNamesThePageFaultsThatTakeItsCpuTime) {
  const Life life{.ran_s = 2, .queued_s = 8};
  EXPECT_THAT(judge(life, {"asm_exc_page_fault"}).sentence,
              HasSubstr("also memory-bound (100 % of the CPU time)"));
  EXPECT_EQ(judge(life).sentence.find("memory-bound"), std::string::npos);
}

TEST(ProblemClass, IsNoLackOfCpusWhereThreadsHardlyWantOne) {
  EXPECT_EQ(judge({.ran_s = 0.02, .queued_s = 0.2, .call = "wait4"}).kind, ProblemKind::kMixed);
  EXPECT_EQ(judge({.ran_s = 0.8, .queued_s = 8, .call = "wait4"}).kind, ProblemKind::kRunQueue);
}

// Two children: an unreadable one burns CPU, and the shell waits for it.
TEST(ProblemClass, OfProgramsWithoutSamplesAndWaitsComesFromTheClock) {
  HandMade hand;
  const auto shell = hand.thread(hand.process(1, "sh"), 1, "sh");
  const auto hidden = hand.thread(hand.process(2, "hidden"), 2, "hidden", 9'000'000'000);
  model::Thread& row = hand.profile.threads[shell.value];
  row.cpu_ns = row.ran_ns = 100'000'000;
  row.waited_ns = 9'900'000'000;
  const auto main = hand.stack({hand.frame(hand.module("sh"), {"main"})});
  hand.wait(shell, main, "wait4", 0, 9'900, 0);
  hand.profile.meta.facts["not_sampled"] = "the kernel does not let this user sample it";
  hand.profile.meta.facts["not_sampled_cpu_ms"] = "9000";
  for (const int samples : {0, 10}) {
    hand.sample(shell, main, samples);
    hand.profile.quality.samples = samples;
    ReportOptions options;
    options.selection.metric = default_metric(hand.profile);
    const auto report = make_report(hand.profile, options).value();
    EXPECT_EQ(classify(report).kind, ProblemKind::kCpu) << samples;
    ASSERT_TRUE(report.unsampled);
    EXPECT_EQ(report.unsampled->all, samples == 0);
    EXPECT_NEAR(report.unsampled->cpu_s, samples == 0 ? 9.1 : 9, 1e-6);
    EXPECT_THAT(present::headline_of(report), HasSubstr("CPU-bound"));
    EXPECT_EQ(present::headline_of(report).find("could not be sampled") != std::string::npos, samples == 0);
    if (samples != 0) {
      EXPECT_THAT(present::sentence_of_hot_spot(report), HasSubstr("of the CPU time that could be sampled"));
    }
    ASSERT_FALSE(report.quality.findings.empty());
    EXPECT_EQ(report.quality.findings.front().kind, FindingKind::kNotSampled);
  }
  (void)hidden;
}

// The clock has the sum of a recording, not of a part of it.
TEST(ProblemClass, OfAPartOfTheTimeIsUnknownWhereProgramsCouldNotBeSampled) {
  HandMade hand;
  (void)hand.thread(hand.process(2, "hidden"), 2, "hidden", 9'000'000'000);
  hand.profile.meta.facts["not_sampled"] = "the kernel does not let this user sample it";
  ReportOptions options;
  options.selection.from_ns = 1'000'000'000;
  options.selection.to_ns = 2'000'000'000;
  const auto report = make_report(hand.profile, options).value();
  EXPECT_FALSE(report.activity.cpu_s);
  EXPECT_FALSE(report.activity.idle());
  EXPECT_EQ(classify(report).kind, ProblemKind::kUnknown);
  EXPECT_THAT(present::sentence_of_hot_spot(report),
              HasSubstr("Nothing was sampled, and the CPU time of the target is unknown."));
}

// 10 s: 1 s ran, 2 s stood in the run queue, and in 7 s the quota was used up.
TEST(ProblemClass, SeparatesTheCpuQuotaFromTheRunQueueAndCountsEachOnce) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  model::Thread& row = hand.profile.threads[thread.value];
  row.cpu_ns = row.ran_ns = 1'000'000'000;
  row.queued_ns = 9'000'000'000;
  const auto main = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.sample(thread, main, 100);
  for (const auto& [from_s, queued_ms, throttled] : {std::tuple{0.5, 2'000, false}, {2.5, 7'000, true}}) {
    model::Wait& wait = hand.wait(thread, main, "", from_s, 0, queued_ms);
    wait.state = model::WaitState::kPreempted;
    wait.throttled = throttled;
  }
  const auto report = make_report(hand.profile, {}).value();
  const ProblemClass problem = classify(report);
  EXPECT_NEAR(problem.queued, 0.9, 1e-6);
  EXPECT_NEAR(problem.throttled, 0.7, 1e-6);
  EXPECT_THAT(present::sentence_of(problem),
              HasSubstr("because the CPU quota of the control group was used up"));
  EXPECT_THAT(
      present::sentence_of_waiting(report),
      HasSubstr("Waited 9.00 s (90 % of its threads' time): 7.00 s for CPU quota of the cgroup, 2.00 s for a "
                "CPU (run queue)."));
}

TEST(ProblemClass, CountsWaitsForLocksOfDatabasesAsSuch) {
  const auto kind_of = [](std::string_view call, const std::vector<std::string>& functions) {
    return judge({.ran_s = 1, .call = call, .functions = functions}).kind;
  };
  EXPECT_EQ(
      kind_of("epoll_wait", {"main", "heap_update", "XactLockTableWait", "LockAcquireExtended", "ProcSleep"}),
      ProblemKind::kLocks)
      << "a row of PostgreSQL";
  EXPECT_EQ(kind_of("nanosleep", {"main", "sqlite3_exec", "sqlite3InvokeBusyHandler"}), ProblemKind::kLocks);
}

TEST(ProblemClass, LeavesIdleWaitsOut) {
  EXPECT_EQ(judge({.ran_s = 0.2, .call = "epoll_wait"}).kind, ProblemKind::kIdle);
  EXPECT_EQ(judge({.ran_s = 2, .call = "epoll_wait"}).kind, ProblemKind::kCpu) << "all of its active time";
}

TEST(ProblemClass, SeparatesMemoryFromFiles) {
  EXPECT_EQ(judge({.ran_s = 1, .object = model::ObjectKind::kMappedFile}).kind, ProblemKind::kDisk);
  EXPECT_EQ(judge({.ran_s = 1, .object = model::ObjectKind::kMemory}).kind, ProblemKind::kMemory);
  EXPECT_EQ(
      judge({.ran_s = 9, .call = "futex"}, {"asm_exc_page_fault", "exc_page_fault", "clear_page_erms"}).kind,
      ProblemKind::kCpuAndMemory);
}

TEST(ProblemClass, CallsTheBusyHandlerOfSqliteALock) {
  EXPECT_EQ(
      judge({.ran_s = 1, .call = "clock_nanosleep", .functions = {"main", "sqlite3_step", "usleep"}}).kind,
      ProblemKind::kLocks);
}

TEST(ProblemClass, CallsTheRowsOfPostgresLocks) {
  EXPECT_EQ(
      judge({.ran_s = 1, .call = "epoll_wait", .functions = {"PostgresMain", "ProcSleep", "WaitLatch"}}).kind,
      ProblemKind::kLocks);
}

// Four threads with 10 s of life each: `ran_s` of it they ran, one after the other, and the rest they waited in `function`.
ProblemKind kind_of_four(std::string_view function, double ran_s) {
  HandMade hand;
  const auto process = hand.process(1, "app");
  const auto app = hand.module("app");
  const auto lock = hand.object(model::ObjectKind::kFutex, "", 0x1000);
  for (int i = 0; i < 4; ++i) {
    const auto thread = hand.thread(process, 1 + i, "app");
    model::Thread& row = hand.profile.threads[thread.value];
    row.cpu_ns = row.ran_ns = static_cast<std::uint64_t>(ran_s * 1e9);
    row.waited_ns = static_cast<std::uint64_t>((10 - ran_s) * 1e9);
    const auto stack = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {std::string(function)})});
    const double begins = i * ran_s, ends = begins + ran_s;
    hand.sample(thread, hand.stack({hand.frame(app, {"main"})}), static_cast<int>(100 * ran_s), begins);
    if (begins > 0) hand.wait(thread, stack, "futex", 0, 1000 * begins, 0, lock);
    if (ends < 10) hand.wait(thread, stack, "futex", ends, 1000 * (10 - ends), 0, lock);
  }
  return classify(make_report(hand.profile, {}).value()).kind;
}

TEST(ProblemClass, IsALockWhereMoreThreadsWaitForItThanGetOn) {
  EXPECT_EQ(kind_of_four("pthread_mutex_lock", 2.5), ProblemKind::kLocks);
}

TEST(ProblemClass, IsCpuWhereTheOthersWaitForWorkOrForAnEnd) {
  EXPECT_EQ(kind_of_four("pthread_cond_wait", 2.5), ProblemKind::kCpu);
  EXPECT_EQ(kind_of_four("sem_wait", 2.5), ProblemKind::kCpu);
  EXPECT_EQ(kind_of_four("pthread_barrier_wait", 2.5), ProblemKind::kCpu);
  EXPECT_EQ(kind_of_four("pthread_join", 2.5), ProblemKind::kCpu);
}

TEST(ProblemClass, SaysWhatDecidedItAndFromWhereOn) {
  EXPECT_EQ(judge({.ran_s = 9, .call = "futex"}).sentence,
            "CPU-bound. A thread was running in 90 % of the busy time (threshold: 70 %); cache misses are "
            "not measured");
  EXPECT_EQ(judge({.ran_s = 1, .call = "futex"}).sentence,
            "lock-bound. In 90 % of the busy time no thread ran and at least one waited for a lock or "
            "another thread "
            "(threshold: 30 %)");
  EXPECT_THAT(judge({.ran_s = 0.2, .call = "epoll_wait"}).sentence,
              HasSubstr("idle. No thread had work in 98 % of the time (threshold: 90 %)"));
  EXPECT_THAT(judge({.ran_s = 6, .queued_s = 1.5, .call = "futex"}).sentence, HasSubstr("mixed. "));
}

TEST(ProblemClass, ComesFromTheCpusAloneIfWaitsWereNotRecorded) {
  const model::Profile profile = small_server();
  const ProblemClass problem = classify(make_report(profile, {}).value());
  EXPECT_EQ(problem.kind, ProblemKind::kCpu);
  EXPECT_EQ(present::sentence_of(problem),
            "CPU-bound. The program used 0.91 CPUs on average (threshold: 0.7); waits were not recorded");
}

// As servers that add up many hosts have them.
TEST(ProblemClass, SaysThatWaitsAreKnownAsSumsWhereSamplesHaveThem) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app", 4'500'000'000);
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.sample(thread, stack, 900);
  hand.sample(thread, stack, 3, 0, model::Metric::kOffCpu, 2'500'000'000);
  const Report report = make_report(hand.profile, {}).value();
  EXPECT_EQ(report.stacks_waited_ns, 7'500'000'000);
  EXPECT_EQ(
      present::sentence_of(classify(report)),
      "CPU-bound. The program used 0.90 CPUs on average (threshold: 0.7); of waits only sums are known");
  EXPECT_EQ(present::sentence_of_waiting(report),
            "Threads waited for 7.50 s in all; what for is not known here.");
  EXPECT_THAT(present::next_commands(report, classify(report), "app.pb.gz"),
              testing::Contains("fathom report app.pb.gz --metric off-cpu"));
}

// As of rows of a server: so many threads, which each ran for so long in 10 s and waited in `call` for the rest.
Judged judge_sums(int threads, double ran_s, double waited_s, std::string_view call) {
  HandMade hand;
  hand.profile.meta.facts[model::kWaitSumsFact] = "yes";
  const auto process = hand.process(1, "app");
  const auto app = hand.module("app");
  for (int i = 0; i < threads; ++i) {
    const auto thread = hand.thread(process, 1 + i, fmt::format("t{}", i));
    hand.sample(thread, hand.stack({hand.frame(app, {"main"})}), static_cast<int>(100 * ran_s));
    // A hundred waits of the same length.
    hand.wait(thread, hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"pthread_mutex_lock"})}), call,
              0, 10 * waited_s)
        .weight = 100;
  }
  const ProblemClass problem = classify(make_report(hand.profile, {}).value());
  return {problem.kind, present::sentence_of(problem)};
}

TEST(ProblemClass, OfWaitsThatWereAddedUpIsWhatTakesTheTimeOfTheThreads) {
  EXPECT_EQ(judge_sums(1, 1, 9, "fsync").sentence,
            "disk-bound. Threads spent 90 % of their active time waiting for files (threshold: 30 %); the "
            "moments of its waits are unknown");
  EXPECT_EQ(judge_sums(3, 1, 9, "recvfrom").kind, ProblemKind::kPeers);
  EXPECT_EQ(judge_sums(3, 0.5, 9, "futex").kind, ProblemKind::kLocks);
  EXPECT_EQ(judge_sums(3, 0.1, 0.05, "fsync").sentence,
            "idle. Its threads had work for 4.5 % of the time in all (threshold: 10 %)");
  EXPECT_EQ(judge_sums(2, 0.3, 0.9, "fsync").kind, ProblemKind::kDisk) << "0.06 CPUs are not idle";
  EXPECT_EQ(
      judge_sums(1, 3, 0.3, "fsync").sentence,
      "CPU-bound. Threads spent 91 % of their active time running (threshold: 70 %); the moments of its "
      "waits are unknown");
}

// One thread may compute while the others wait.
TEST(ProblemClass, OfWaitsThatWereAddedUpIsCpuWhereTheProgramKeepsACpuBusy) {
  const Judged judged = judge_sums(4, 2.5, 7.5, "fsync");
  EXPECT_EQ(judged.kind, ProblemKind::kCpu);
  EXPECT_THAT(judged.sentence,
              StartsWith("CPU-bound. The program used 1.00 CPUs on average (threshold: 0.7); "
                         "the moments of its waits are unknown"));
  EXPECT_THAT(judged.sentence, HasSubstr("also disk-bound (75 % of its threads' active time)"));
  EXPECT_EQ(judge_sums(4, 2.5, 7.5, "futex").kind, ProblemKind::kLocks);
}

TEST(ProblemClass, SaysWhenTheLookWasMadeThatShowsADeadlock) {
  model::Profile profile = small_server();
  stacks::Look look;
  look.threads.resize(2);
  look.verdicts = {{stacks::Finding::kDeadlock, {0, 1}, {}, 0, false}};
  const auto sentence = [&] {
    profile.meta.facts[stacks::kLookFact] = stacks::to_fact(look);
    return present::sentence_of(classify(make_report(profile, {}).value()));
  };
  EXPECT_THAT(sentence(), StartsWith("deadlock, seen in a look at all threads near the end; by time "));
  look.time_ns = 4'000'000'000;
  EXPECT_THAT(sentence(),
              StartsWith("deadlock, seen in a look at all threads 4.00 s after the start, and they "
                         "have not run since; by time "));
}

// Below one core, and without waits, there was no line at all.
TEST(ProblemClass, SaysThatItIsNotKnownWhereHalfACoreWasUsedAndWaitsWereNotRecorded) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app", 4'500'000'000);
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"main"})}), 450);
  const ProblemClass problem = classify(make_report(hand.profile, {}).value());
  EXPECT_EQ(problem.kind, ProblemKind::kUnknown);
  EXPECT_EQ(present::sentence_of(problem),
            "unknown. The program used 0.45 CPUs on average, between idle (below 0.1) and CPU-bound (at "
            "least 0.7), and waits were not recorded");
  EXPECT_EQ(present::sentence_of(ProblemClass{}), "") << "a file without times";
}

TEST(ProblemClass, IsUnknownOfAProgramThatRanForAMoment) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"main"})});
  model::Thread& row = hand.profile.threads[thread.value];
  row.ran_ns = 4'000'000, row.waited_ns = 4'000'000;
  row.end_ns = hand.profile.meta.start_ns + 8'000'000;
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 60'000'000;
  hand.sample(thread, stack, 1);
  hand.wait(thread, stack, "fsync", 0, 4);
  const ProblemClass problem = classify(make_report(hand.profile, {}).value());
  EXPECT_EQ(problem.kind, ProblemKind::kUnknown);
  EXPECT_EQ(present::sentence_of(problem), "unknown. The program had work for 8 ms only (threshold: 50 ms)");
}

TEST(ProblemClass, LeadsToTheTableOfWhatItIs) {
  const model::Profile profile = waiting_server();
  const auto report = make_report(profile, {}).value();
  const auto first = [&](ProblemKind kind) {
    return present::next_commands(report, {.kind = kind}, "x.fathom").front();
  };
  EXPECT_EQ(first(ProblemKind::kLocks), "fathom report x.fathom --locks");
  EXPECT_EQ(first(ProblemKind::kDisk), "fathom report x.fathom --files");
  EXPECT_EQ(first(ProblemKind::kCpu), "fathom flamegraph x.fathom");
  EXPECT_EQ(first(ProblemKind::kIdle), "fathom report x.fathom --waits");
}

// A program that leaked while it slept was sent to its sleeps.
TEST(ProblemClass, LeadsToTheMemoryThatGrowsAndIsNotKnown) {
  HandMade hand;
  hand.thread(hand.process(4711, "app"), 4711, "app", 1'000'000);
  const auto commands = [&](ProblemKind kind) {
    Report report = make_report(hand.profile, {}).value();
    report.waits.emplace();
    return present::next_commands(
        report, {.kind = kind, .memory_problem = {.kind = MemoryProblemKind::kGrows}}, "x.fathom");
  };
  EXPECT_EQ(commands(ProblemKind::kSleep).front(), "fathom record --heap -p 4711");
  EXPECT_EQ(commands(ProblemKind::kLocks).front(), "fathom report x.fathom --locks");
  EXPECT_EQ(commands(ProblemKind::kLocks)[1], "fathom record --heap -p 4711");
  hand.profile.meta.facts["command"] = "./app 20";
  EXPECT_EQ(commands(ProblemKind::kSleep).front(), "fathom record --heap -- ./app 20");
  hand.profile.meta.facts["command"] = "";
  hand.profile.meta.facts["end.4711"] = "signal 9";
  EXPECT_EQ(commands(ProblemKind::kSleep).front(), "fathom report x.fathom --waits") << "it has ended";
}

TEST(ProblemClass, SaysWhatTheKernelCountedAsPressure) {
  ProblemClass problem;
  problem.kind = ProblemKind::kIdle;
  problem.pressure.memory = Stall{.some = 0.09};
  EXPECT_EQ(present::sentence_of(problem).find("PSI"), std::string::npos) << "below the threshold";
  problem.pressure.memory = Stall{.some = 0.42, .full = 0.123};
  problem.pressure.io = Stall{.some = 0.2};
  EXPECT_THAT(
      present::sentence_of(problem),
      HasSubstr(
          "(threshold: 0.1); tasks of its control group were stalled on memory for 42 % of the time (all of "
          "them for 12 %), on disks for 20 % of the time (PSI, threshold: 10 %)"));
  problem.pressure.cpu = Stall{.some = 0.5, .of_machine = true};
  EXPECT_EQ(present::sentence_of(problem).find("on CPUs"), std::string::npos) << "its own run queue is known";
  problem.pressure.io->of_machine = true;
  EXPECT_EQ(present::sentence_of(problem).find("whole machine"), std::string::npos)
      << "it waited for no disk";
  problem.disk = 0.05;
  EXPECT_THAT(present::sentence_of(problem),
              HasSubstr("; tasks on the machine were stalled on disks for 20 %"));
}

}  // namespace
}  // namespace fathom::analysis
