#include "cli/top_companion.h"

#include <gtest/gtest.h>

#include "record/session/testing_lent.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kTopSecond = 1'000'000'000;

class TopCompanionTest : public testing::Test {
 protected:
  TopCompanionTest() : builder_(profile_) {
    profile_.meta.frequency_hz = 100;
    lent_.processes().expect_exec(9, 1);
    lent_.processes().apply(sources::ProcessExeced{2, 9, 9, "target"});
  }
  session::Companion::Lent lent() {
    session::Companion::Lent lent = lent_.lent();
    lent.readings.take_names = [] {};
    lent.readings.names_are_known = [] { return true; };
    lent.readings.open_waits = [](std::uint64_t) { return std::vector<model::Wait>(); };
    return lent;
  }
  TopScreen screen_{TopMetric::kCpu};
  TopCompanion companion_{screen_, 1};
  model::Profile profile_;
  model::Builder builder_;
  session::TestingLent lent_{profile_, builder_};
};

// Threads of other processes have rows, too, if they ended a wait.
TEST_F(TopCompanionTest, ThreadsAreThoseOfTheTarget) {
  companion_.step(lent(), 100 * kTopSecond);
  (void)lent_.processes().thread_row(9, 9);
  for (const std::int32_t waker : {7, 8}) (void)lent_.processes().foreign_thread_row(waker, waker);
  companion_.step(lent(), 101 * kTopSecond);
  ASSERT_TRUE(companion_.take_fresh());
  EXPECT_NE(screen_.plain(10).find("0.0 of 1 threads waiting"), std::string::npos) << screen_.plain(10);
}

TEST_F(TopCompanionTest, AnIntervalHasItsPartOfAWait) {
  const model::ThreadId thread = lent_.processes().thread_row(9, 9);
  companion_.step(lent(), 100 * kTopSecond);
  model::Wait wait;
  wait.thread = thread;
  wait.start_ns = 90 * kTopSecond;
  wait.waited_ns = 10 * kTopSecond + kTopSecond / 2;
  profile_.waits.push_back(wait);
  companion_.step(lent(), 101 * kTopSecond);
  EXPECT_NE(screen_.plain(10).find("0.5 of 1 threads waiting"), std::string::npos) << screen_.plain(10);
}

// One thread would wait in more than one place at a time.
TEST_F(TopCompanionTest, AnIntervalLastsUntilItsLatestRow) {
  const model::ThreadId thread = lent_.processes().thread_row(9, 9);
  companion_.step(lent(), 100 * kTopSecond);
  model::Wait wait;
  wait.thread = thread;
  wait.start_ns = 100 * kTopSecond;
  wait.waited_ns = kTopSecond + kTopSecond / 4;
  profile_.waits.push_back(wait);
  companion_.step(lent(), 101 * kTopSecond);
  EXPECT_NE(screen_.plain(10).find("1.0 of 1 threads waiting"), std::string::npos) << screen_.plain(10);
}

}  // namespace
}  // namespace fathom::cli
