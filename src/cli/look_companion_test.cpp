#include "cli/look_companion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "analysis/stacks/kept_look.h"
#include "record/session/testing_lent.h"

namespace fathom::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kLookSecond = 1'000'000'000, kLookStart = 100 * kLookSecond;

// A process 9 with the threads 9 and 10, which hold each other's locks for as long as it runs.
class LookCompanionTest : public testing::Test {
 protected:
  LookCompanionTest() : builder_(profile_) {
    profile_.meta.start_ns = kLookStart;
    lent_.processes().expect_exec(9, 1);
    lent_.processes().apply(sources::ProcessExeced{2, 9, 9, "target"});
    for (const std::int32_t tid : {9, 10}) {
      model::Wait wait;
      wait.thread = lent_.processes().thread_row(9, tid);
      wait.start_ns = kLookStart;
      wait.object.value = static_cast<std::uint32_t>(profile_.objects.size());
      profile_.objects.push_back({model::ObjectKind::kFutex, {}, 0x1000, 9});
      open_.push_back(wait);
    }
  }

  session::Companion::Lent lent() {
    session::Companion::Lent lent = lent_.lent();
    lent.readings.open_waits = [this](std::uint64_t now_ns) { return waits_until(now_ns, true); };
    return lent;
  }
  std::vector<model::Wait> waits_until(std::uint64_t now_ns, bool unfinished) const {
    std::vector<model::Wait> waits = open_;
    for (model::Wait& wait : waits) {
      wait.waited_ns = now_ns - wait.start_ns;
      wait.unfinished = unfinished;
    }
    return waits;
  }
  // A look as of the time of the last step.
  MadeLook deadlock() {
    MadeLook made;
    made.look.emplace();
    made.look->time_ns = now_ns_;
    for (const std::int32_t tid : {9, 10}) {
      stacks::ThreadLook thread;
      thread.pid = 9;
      thread.tid = tid;
      thread.waited_ns = now_ns_ - kLookStart;
      made.look->threads.push_back(thread);
    }
    made.look->verdicts = {{stacks::Finding::kDeadlock, {0, 1}, {}, 0, false}};
    return made;
  }
  void step(LookCompanion& companion, double second) {
    now_ns_ = kLookStart + static_cast<std::uint64_t>(second * 1e9);
    companion.step(lent(), now_ns_);
    while (companion.is_looking()) std::this_thread::yield();
  }
  // The recording ends.
  void end(LookCompanion& companion, double second, bool by_signal) {
    now_ns_ = profile_.meta.end_ns = kLookStart + static_cast<std::uint64_t>(second * 1e9);
    profile_.waits = waits_until(now_ns_, !by_signal);
    if (by_signal)
      for (model::Thread& thread : profile_.threads) thread.end_ns = now_ns_;
    EXPECT_EQ(companion.before_save(lent(), true), session::Companion::Save::kAppend);
  }
  stacks::Look kept() { return stacks::look_of_fact(profile_.meta.facts[stacks::kLookFact]); }
  std::string missed() { return profile_.meta.facts[stacks::kLookMissedFact]; }

  // Made in the thread of the looks, while the test waits for it.
  Looker looker_ = [this](const std::vector<std::int32_t>&) {
    seconds_.push_back((now_ns_ - kLookStart) / kLookSecond);
    return deadlock();
  };
  std::vector<std::uint64_t> seconds_;
  std::uint64_t now_ns_ = kLookStart;
  std::vector<model::Wait> open_;
  model::Profile profile_;
  model::Builder builder_;
  session::TestingLent lent_{profile_, builder_};
};

TEST_F(LookCompanionTest, LooksAtDoublingTimesAndThenOnceAMinute) {
  LookCompanion companion(looker_, std::nullopt);
  for (int second = 1; second <= 200; ++second) step(companion, second);
  EXPECT_THAT(seconds_, ElementsAre(2, 4, 8, 16, 32, 64, 124, 184));
}

TEST_F(LookCompanionTest, LooksASecondBeforeTheTimeIsUpAndNotShortlyBefore) {
  LookCompanion companion(looker_, 10);
  for (int second = 1; second <= 9; ++second) step(companion, second);
  EXPECT_THAT(seconds_, ElementsAre(2, 4, 9));
  end(companion, 10, false);
  ASSERT_THAT(kept().verdicts, SizeIs(1));
  EXPECT_EQ(kept().time_ns, 0u) << "near the end";
  EXPECT_THAT(seconds_, SizeIs(3)) << "one look near the end is enough";
}

TEST_F(LookCompanionTest, LooksAtNothingWhereNoThreadWaitsForLong) {
  open_.clear();
  LookCompanion companion(looker_, std::nullopt);
  for (int second = 1; second <= 9; ++second) step(companion, second);
  end(companion, 10, false);
  EXPECT_THAT(seconds_, IsEmpty());
  EXPECT_EQ(missed(), "");
}

// Ctrl-C ends a command that fathom has launched before fathom knows of it.
TEST_F(LookCompanionTest, OfACommandThatASignalEndsTheLastLookCounts) {
  LookCompanion companion(looker_, std::nullopt);
  for (int second = 1; second <= 6; ++second) step(companion, second);
  end(companion, 7, true);
  ASSERT_THAT(kept().verdicts, SizeIs(1));
  EXPECT_EQ(kept().time_ns, 4 * kLookSecond) << "after the start";
  EXPECT_EQ(kept().threads[0].waited_ns, 7 * kLookSecond) << "until the end";
  EXPECT_EQ(missed(), "");
}

TEST_F(LookCompanionTest, AWaitThatIsSavedBeforeTheEndCountsToo) {
  LookCompanion companion(looker_, std::nullopt);
  for (int second = 1; second <= 6; ++second) step(companion, second);
  now_ns_ = kLookStart + 7 * kLookSecond;
  profile_.waits = waits_until(now_ns_, false);
  for (model::Thread& thread : profile_.threads) thread.end_ns = now_ns_;
  (void)companion.before_save(lent(), false);
  open_.clear();
  end(companion, 7, true);
  EXPECT_THAT(kept().verdicts, SizeIs(1));
}

TEST_F(LookCompanionTest, AnEarlierLookDoesNotCountIfItsThreadsHaveRunSince) {
  LookCompanion companion(looker_, std::nullopt);
  for (int second = 1; second <= 6; ++second) step(companion, second);
  open_[0].start_ns = kLookStart + 5 * kLookSecond;
  end(companion, 7, true);
  EXPECT_THAT(kept().verdicts, IsEmpty());
}

TEST_F(LookCompanionTest, OfAProcessThatEndsTheLastLookMayShowNothing) {
  bool is_last = false;
  LookCompanion companion(
      [&](const std::vector<std::int32_t>&) { return is_last ? MadeLook{stacks::Look()} : deadlock(); },
      std::nullopt);
  for (int second = 1; second <= 6; ++second) step(companion, second);
  is_last = true;
  end(companion, 7, false);
  ASSERT_THAT(kept().verdicts, SizeIs(1));
  EXPECT_EQ(kept().time_ns, 4 * kLookSecond);
}

TEST_F(LookCompanionTest, ALookThatTakesTooLongIsSaidToBeMissing) {
  std::promise<void> may_end;
  const std::shared_future<void> ended = may_end.get_future().share();
  LookCompanion companion(
      [ended](const std::vector<std::int32_t>&) {
        ended.wait();
        return MadeLook{};
      },
      std::nullopt, std::chrono::milliseconds(1));
  end(companion, 7, false);
  EXPECT_EQ(missed(), "unfinished");
  EXPECT_THAT(kept().verdicts, IsEmpty());
  may_end.set_value();
}

TEST_F(LookCompanionTest, ALookInTheMiddleOfTheEndShowsNothingAndTheOneBeforeItDoes) {
  bool is_last = false;
  LookCompanion companion(
      [&](const std::vector<std::int32_t>&) {
        MadeLook made = deadlock();
        made.is_cut_short = is_last;
        return made;
      },
      10);
  for (int second = 1; second <= 8; ++second) step(companion, second);
  is_last = true;
  step(companion, 9);
  end(companion, 10, true);
  EXPECT_EQ(missed(), "unfinished");
  ASSERT_THAT(kept().verdicts, SizeIs(1));
  EXPECT_EQ(kept().time_ns, 4 * kLookSecond);
}

TEST_F(LookCompanionTest, NamesThatAreMissingAreSaidToBe) {
  LookCompanion companion(
      [&](const std::vector<std::int32_t>&) {
        MadeLook made = deadlock();
        made.look->lacks_names = true;
        return made;
      },
      std::nullopt);
  end(companion, 7, false);
  EXPECT_EQ(missed(), "names");
  EXPECT_THAT(kept().verdicts, SizeIs(1));
}

}  // namespace
}  // namespace fathom::cli
