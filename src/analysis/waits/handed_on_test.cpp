#include "analysis/waits/handed_on.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/waits/wait_report.h"

namespace fathom::analysis {
namespace {

// Three threads and a fourth one that never waits.
struct FourThreads {
  HandMade hand;
  model::ProcessId process = hand.process(10, "app");
  model::ModuleId app = hand.module("app"), libc = hand.module("libc.so.6");
  model::WaitObjectId futex = hand.object(model::ObjectKind::kFutex, "", 0x7000);
  std::vector<model::ThreadId> threads;
  FourThreads() {
    for (int i = 0; i < 4; ++i) {
      threads.push_back(hand.thread(process, 10 + i, "app"));
      hand.profile.threads.back().ran_ns = 1;  // known to the scheduler, so the rest is not running
    }
  }
  model::StackId stack_of(const std::vector<std::string>& names) {
    std::vector<model::FrameId> frames;
    for (const std::string& name : names)
      frames.push_back(
          hand.frame(name.starts_with("sem_") || name.starts_with("pthread_") ? libc : app, {name}));
    return hand.stack(frames);
  }
  // Each of the three waits four times, and `waker(i)` ends the i-th wait.
  template <class Waker>
  void take_turns(model::StackId stack, Waker waker) {
    for (std::size_t i = 0; i < 12; ++i)
      hand.wait(threads[i % 3], stack, "futex", 0.5 * static_cast<double>(i), 400, 0, futex).waker =
          threads[waker(i)];
  }
  bool is_handed_on() {
    const Waits waits(hand.profile, {});
    const WaitSites sites(hand.profile);
    return HandedOnFutexes(waits, sites).contains(hand.profile.waits[0]);
  }
};

TEST(HandedOnFutexes, AreThoseWhoseWaitersEndEachOthersWaits) {
  const auto next = [](std::size_t i) { return (i + 1) % 3; };
  const auto fourth = [](std::size_t) { return 3; };
  for (const auto& [names, may_be] :
       {std::pair{std::vector<std::string>{"main", "handle", "__new_sem_wait_slow64"}, true},
        {{"main", "table_enter", "syscall"}, true},
        {{"main", "take_job", "pthread_cond_wait"}, false},
        {{"main", "acquire_connection", "pthread_cond_wait"}, false},
        {{"main", "std::thread::park"}, false},
        {{"main", "pthread_join"}, false}}) {
    FourThreads handed, counted;
    handed.take_turns(handed.stack_of(names), next);
    EXPECT_EQ(handed.is_handed_on(), may_be) << names.back();
    counted.take_turns(counted.stack_of(names), fourth);
    EXPECT_FALSE(counted.is_handed_on()) << names.back() << ", ended by a thread that adds jobs";
  }
}

// A thread that gives back and takes again at once never waits.
TEST(HandedOnFutexes, AreThoseThatOneFunctionTakesAndGivesBack) {
  using Names = std::vector<std::string>;
  for (const auto& [takes, gives, is_handed_on] :
       {std::tuple{Names{"start_thread", "handle", "sem_wait"}, Names{"start_thread", "handle", "sem_post"},
                   true},
        {{"start_thread", "handle", "take_slot", "sem_wait"},
         {"start_thread", "handle", "free_slot", "sem_post"},
         true},
        {{"start_thread", "work", "sem_wait"}, {"start_thread", "listen_for_jobs", "sem_post"}, false},
        {{"start_thread", "work", "next_job", "sem_wait"},
         {"start_thread", "listen", "add_job", "sem_post"},
         false}}) {
    FourThreads program;
    program.take_turns(program.stack_of(takes), [](std::size_t) { return 3; });
    const model::StackId giver = program.stack_of(gives);
    for (model::Wait& wait : program.hand.profile.waits) wait.waker_stack = giver;
    EXPECT_EQ(program.is_handed_on(), is_handed_on) << takes.back() << ", " << gives[gives.size() - 2];
  }
}

// A pool of connections and a queue of jobs are one condition variable each. They differ in who gives, and where.
TEST(HandedOnFutexes, AConditionVariableCountsIfItsWaitersGiveBackWhatTheyTook) {
  using Names = std::vector<std::string>;
  const Names takes{"start_thread", "handle", "Pool::get", "pthread_cond_wait"};
  const auto waiters = [](std::size_t i) { return (i + 1) % 3; };
  const auto another = [](std::size_t) { return std::size_t{3}; };
  const auto is_handed_on = [&](const Names& taken, const Names& given, auto waker) {
    FourThreads program;
    program.take_turns(program.stack_of(taken), waker);
    const model::StackId giver = program.stack_of(given);
    for (model::Wait& wait : program.hand.profile.waits) wait.waker_stack = giver;
    return program.is_handed_on();
  };
  EXPECT_TRUE(is_handed_on(takes, {"start_thread", "handle", "Pool::put", "pthread_cond_signal"}, waiters));
  EXPECT_TRUE(is_handed_on(takes, {"start_thread", "handle", "Pool::put", "pthread_cond_signal"}, another))
      << "a holder that never has to wait";
  EXPECT_TRUE(is_handed_on(
      takes, {"start_thread", "handle", "Lease::~Lease", "Pool::put", "pthread_cond_signal"}, waiters));
  EXPECT_FALSE(is_handed_on({"start_thread", "work", "take_job", "pthread_cond_wait"},
                            {"start_thread", "work", "run", "add_job", "pthread_cond_signal"}, waiters))
      << "a job that adds further ones";
  const Names arrives{"start_thread", "work", "arrive", "pthread_cond_wait"};
  EXPECT_FALSE(is_handed_on(arrives, {"start_thread", "work", "arrive", "pthread_cond_broadcast"}, waiters))
      << "a barrier";
  EXPECT_TRUE(is_handed_on({"start_thread", "handle", "pthread_cond_wait"},
                           {"start_thread", "handle", "pthread_cond_signal"}, waiters));
}

TEST(HandedOnFutexes, AStageOfAPipelineGivesNothingBack) {
  FourThreads program;
  const model::StackId waits =
      program.stack_of({"start_thread", "stage", "Queue::take", "pthread_cond_wait"});
  program.take_turns(waits, [](std::size_t) { return std::size_t{3}; });
  const model::StackId gives =
      program.stack_of({"start_thread", "stage", "Queue::add", "pthread_cond_signal"});
  for (model::Wait& wait : program.hand.profile.waits) wait.waker_stack = gives;
  EXPECT_TRUE(program.is_handed_on());
  // The stage before it waits at a queue of its own.
  program.hand.wait(program.threads[3], waits, "futex", 0, 5, 0,
                    program.hand.object(model::ObjectKind::kFutex, "", 0x9000));
  EXPECT_FALSE(program.is_handed_on());
}

// The holder sleeps, and the others wait for it: that is what limits the program, and not the sleep.
TEST(HandedOnFutexes, AreLocksByWallTimeAndInTheTables) {
  for (const bool handed_on : {true, false}) {
    FourThreads program;
    program.take_turns(program.stack_of({"main", "handle", "sem_wait"}),
                       [&](std::size_t i) { return handed_on ? (i + 1) % 3 : 3; });
    program.hand.wait(program.threads[3], program.stack_of({"main", "query"}), "nanosleep", 0, 9'999);
    const WaitReport report = make_wait_report(program.hand.profile, {});
    EXPECT_EQ(report.wall.locks_ns > 4e9, handed_on);
    ASSERT_EQ(report.locks.by_site.size(), 1u);
    EXPECT_EQ(report.locks.by_site[0].is_lock(), handed_on);
    EXPECT_EQ(report.locks.by_object[0].is_lock(), handed_on);
  }
}

}  // namespace
}  // namespace fathom::analysis
