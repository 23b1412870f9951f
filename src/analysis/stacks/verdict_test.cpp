#include "analysis/stacks/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace fathom::stacks {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Threads that wait for mutexes; who holds what is written down.
class Verdicts : public testing::Test {
 protected:
  std::size_t thread(std::string idle = "") {
    ThreadLook row;
    row.pid = 1;
    row.tid = static_cast<std::int32_t>(100 + look.threads.size());
    row.state = State::kWaits;
    row.idle = std::move(idle);
    row.awaited.cause = analysis::Cause::kFutex;
    row.awaited.futex = analysis::FutexKind::kCondition;
    row.waited_ns = 1'000'000'000;
    look.threads.push_back(row);
    return look.threads.size() - 1;
  }
  void waits_for_lock(std::size_t waiter, std::uint64_t lock) {
    Awaited& awaited = look.threads[waiter].awaited;
    awaited.futex = analysis::FutexKind::kLock;
    awaited.family = LockFamily::kPthreadMutex;
    awaited.address = lock;
  }
  void held_by(std::size_t waiter, std::uint64_t lock, std::size_t holder) {
    waits_for_lock(waiter, lock);
    look.threads[waiter].holder = {
        Holder::Kind::kThread, Evidence::kOwnerField, look.threads[holder].tid, 1, {}, holder};
  }
  std::vector<Verdict> judge() const { return find_verdicts(profile, look); }
  std::vector<Finding> findings() const {
    std::vector<Finding> all;
    for (const Verdict& verdict : judge()) all.push_back(verdict.finding);
    return all;
  }
  model::Profile profile;
  Look look;
};

TEST_F(Verdicts, ACircleIsADeadlockAndOthersWaitBehindIt) {
  const std::size_t a = thread(), b = thread(), c = thread(), outside = thread(), farther = thread();
  held_by(a, 0x10, b);
  held_by(b, 0x20, c);
  held_by(c, 0x30, a);
  held_by(outside, 0x10, b);
  held_by(farther, 0x40, outside);
  const auto verdicts = judge();
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].finding, Finding::kDeadlock);
  EXPECT_THAT(verdicts[0].threads, ElementsAre(a, b, c)) << "each waits for what the next one holds";
  EXPECT_EQ(verdicts[0].behind, 2u);
  EXPECT_FALSE(verdicts[0].may_end);
}

TEST_F(Verdicts, AThreadThatWaitsForItselfIsACircle) {
  const std::size_t a = thread();
  held_by(a, 0x10, a);
  EXPECT_THAT(findings(), ElementsAre(Finding::kDeadlock));
}

TEST_F(Verdicts, ATimeoutMayEndIt) {
  const std::size_t a = thread(), b = thread();
  held_by(a, 0x10, b);
  held_by(b, 0x20, a);
  look.threads[b].awaited.has_timeout = true;
  EXPECT_TRUE(judge()[0].may_end);
}

TEST_F(Verdicts, AChainEndsAtWhatItsLastThreadDoes) {
  const std::size_t a = thread(), b = thread(), c = thread();
  held_by(a, 0x10, b);
  held_by(b, 0x20, c);
  const auto waits = judge();
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits[0].finding, Finding::kHolderWaits);
  EXPECT_THAT(waits[0].chain, ElementsAre(b, c));
  look.threads[c].state = State::kRuns;
  EXPECT_EQ(judge()[0].finding, Finding::kHolderRuns);
}

TEST_F(Verdicts, WaitersOfOneLockAreOneVerdict) {
  const std::size_t holder = thread();
  for (int i = 0; i < 5; ++i) held_by(thread(), 0x10, holder);
  const std::size_t other = thread();
  held_by(other, 0x20, holder);
  const auto verdicts = judge();
  EXPECT_EQ(verdicts[0].finding, Finding::kHolderWaits);
  EXPECT_THAT(verdicts[0].threads, SizeIs(5)) << "the lock that most threads wait for comes first";
  EXPECT_EQ(verdicts[1].finding, Finding::kHolderWaits);
  EXPECT_THAT(verdicts[1].threads, ElementsAre(other));
}

TEST_F(Verdicts, ALockWithoutAKnownHolderIsSaidToHaveNone) {
  const std::size_t a = thread();
  waits_for_lock(a, 0x10);
  EXPECT_THAT(findings(), ElementsAre(Finding::kHolderUnknown));
}

// Rust's locks keep no holder: two of them that are waited for while nothing else happens are most likely a circle.
TEST_F(Verdicts, LocksWithoutHoldersWhileAllElseRests) {
  const std::size_t a = thread(), b = thread(), main = thread(), sleeper = thread();
  waits_for_lock(a, 0x10);
  waits_for_lock(b, 0x20);
  held_by(main, 0x30, a);
  look.threads[main].awaited.futex = analysis::FutexKind::kJoin;
  look.threads[main].holder.evidence = Evidence::kThreadEnd;
  look.threads[sleeper].awaited.cause = analysis::Cause::kSleep;
  const auto verdicts = judge();
  EXPECT_EQ(verdicts[0].finding, Finding::kLikelyDeadlock);
  EXPECT_THAT(verdicts[0].threads, ElementsAre(a, b));
  EXPECT_EQ(verdicts[0].behind, 1u) << "main joins one of them";
  const auto not_claimed = [&] {
    return std::ranges::none_of(
        judge(), [](const Verdict& verdict) { return verdict.finding == Finding::kLikelyDeadlock; });
  };
  const Look before = look;
  look.threads[b].awaited.address = 0x10;
  EXPECT_TRUE(not_claimed()) << "one lock: its holder may be at rest";
  look = before;
  look.threads[b].waited_ns = 1'000'000;
  EXPECT_TRUE(not_claimed()) << "not for long";
  look = before;
  look.threads[sleeper].state = State::kRuns;
  EXPECT_TRUE(not_claimed()) << "it may hold both";
  look = before;
  look.threads[sleeper].awaited.cause = analysis::Cause::kFileSync;
  EXPECT_TRUE(not_claimed()) << "it may hold both, and goes on when the disk answers";
}

// A reader that wants to write waits for itself; two of them wait for each other, at the same lock.
TEST_F(Verdicts, OneLockWithoutAHolderThatNoOtherThreadCanRelease) {
  const std::size_t a = thread(), b = thread(), main = thread();
  for (const std::size_t row : {a, b}) {
    waits_for_lock(row, 0x10);
    look.threads[row].awaited.futex = analysis::FutexKind::kReaderWriter;
    look.threads[row].awaited.family = LockFamily::kPthreadRwlock;
  }
  held_by(main, 0x30, a);
  look.threads[main].awaited.futex = analysis::FutexKind::kJoin;
  look.threads[main].holder.evidence = Evidence::kThreadEnd;
  const auto verdicts = judge();
  EXPECT_EQ(verdicts[0].finding, Finding::kLikelyDeadlock);
  EXPECT_THAT(verdicts[0].threads, ElementsAre(a, b));
  const auto not_claimed = [&] {
    return std::ranges::none_of(
        judge(), [](const Verdict& verdict) { return verdict.finding == Finding::kLikelyDeadlock; });
  };
  const Look before = look;
  look.threads[a].awaited.process_private = look.threads[b].awaited.process_private = false;
  EXPECT_TRUE(not_claimed()) << "another process may hold it";
  look = before;
  look.threads[main].holder = {};
  look.threads[main].awaited.cause = analysis::Cause::kSleep;
  EXPECT_TRUE(not_claimed()) << "it may sleep with the lock";
  look = before;
  look.threads[a].awaited.family = look.threads[b].awaited.family = LockFamily::kPthreadMutex;
  EXPECT_TRUE(not_claimed()) << "such a lock keeps its holder: it could not be read";
}

TEST_F(Verdicts, AHolderThatHasExitedNeverReleases) {
  const std::size_t a = thread(), b = thread(), behind = thread();
  for (const std::size_t row : {a, b}) {
    waits_for_lock(row, 0x10);
    look.threads[row].holder = {Holder::Kind::kExited, Evidence::kOwnerField, 99, 0, {}, 0};
  }
  held_by(behind, 0x20, a);
  const auto verdicts = judge();
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].finding, Finding::kHolderExited);
  EXPECT_THAT(verdicts[0].threads, ElementsAre(a, b));
  EXPECT_EQ(verdicts[0].behind, 1u);
}

TEST_F(Verdicts, IdleThreadsAndOpenQuestionsAreNoClaim) {
  thread("redis event loop");
  const std::size_t sleeper = thread();
  look.threads[sleeper].awaited.cause = analysis::Cause::kSleep;
  EXPECT_THAT(findings(), ElementsAre(Finding::kIdle));
  const std::size_t open = thread();  // at a condition variable
  const auto verdicts = judge();
  EXPECT_EQ(verdicts[0].finding, Finding::kWaits);
  EXPECT_THAT(verdicts[0].threads, ElementsAre(open));
}

// A parent that holds the file lock which its child wants, and waits for the child.
TEST_F(Verdicts, WaitingForAChildIsNoClaimUnlessTheChildWaitsForIts) {
  const std::size_t parent = thread(), child = thread();
  look.threads[parent].awaited.cause = look.threads[child].awaited.cause = analysis::Cause::kChild;
  look.threads[child].pid = 2;
  look.threads[parent].holder = {
      Holder::Kind::kThread, Evidence::kChild, look.threads[child].tid, 2, {}, child};
  EXPECT_THAT(findings(), ElementsAre(Finding::kWaits));
  look.threads[child].awaited.cause = analysis::Cause::kFileLock;
  look.threads[child].holder = {
      Holder::Kind::kThread, Evidence::kFileLocks, look.threads[parent].tid, 1, {}, parent};
  EXPECT_THAT(findings(), ElementsAre(Finding::kDeadlock));
}

TEST_F(Verdicts, JoiningAThreadIsNoClaim) {
  const std::size_t main = thread(), worker = thread("tokio worker");
  held_by(main, 0x10, worker);
  look.threads[main].awaited.futex = analysis::FutexKind::kJoin;
  look.threads[main].holder.evidence = Evidence::kThreadEnd;
  EXPECT_THAT(findings(), ElementsAre(Finding::kWaits, Finding::kIdle));
}

// In any graph of holders: the deadlocks are exactly its circles, and each thread is in a verdict or behind one.
TEST_F(Verdicts, AnyGraphOfHolders) {
  std::mt19937 chance(7);
  for (int round = 0; round < 2000; ++round) {
    look.threads.clear();
    const std::size_t count = 1 + chance() % 12;
    for (std::size_t i = 0; i < count; ++i) thread();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t holder = chance() % (count + 3);
      if (holder < count) held_by(i, 0x1000 + 8 * holder, holder);
    }
    std::set<std::size_t> on_circle;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = i;
      for (std::size_t steps = 0; steps < count; ++steps) {
        if (look.threads[at].holder.kind != Holder::Kind::kThread) break;
        at = look.threads[at].holder.thread;
        if (at == i) on_circle.insert(i);
      }
    }
    std::set<std::size_t> named, all;
    std::size_t behind = 0;  // of circles; no chain ends in one
    for (const Verdict& verdict : judge()) {
      behind += verdict.behind;
      all.insert(verdict.threads.begin(), verdict.threads.end());
      all.insert(verdict.chain.begin(), verdict.chain.end());
      if (verdict.finding == Finding::kDeadlock) {
        for (std::size_t i = 0; i < verdict.threads.size(); ++i) {
          EXPECT_TRUE(named.insert(verdict.threads[i]).second);
          EXPECT_EQ(look.threads[verdict.threads[i]].holder.thread,
                    verdict.threads[(i + 1) % verdict.threads.size()]);
        }
      }
    }
    EXPECT_EQ(named, on_circle);
    EXPECT_EQ(all.size() + behind, count);
  }
}

}  // namespace
}  // namespace fathom::stacks
