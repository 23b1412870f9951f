#include "analysis/waits/unended_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A recording of 10 s: request threads wait at a condition variable for a refresher.
class UnendedWaits : public testing::Test {
 protected:
  model::ThreadId thread(const std::string& name) {
    return hand.thread(process, static_cast<std::int32_t>(11 + hand.profile.threads.size()), name);
  }
  model::Wait& wait(model::ThreadId thread, double from_s, double to_s,
                    const std::string& call = "pthread_cond_wait") {
    return hand.wait(thread, hand.stack({hand.frame(app, {"serve_request"}), hand.frame(libc, {call})}),
                     "futex", from_s, 1000 * (to_s - from_s), 0, futex);
  }
  void stays(model::ThreadId id, double from_s) { wait(id, from_s, 10).unfinished = true; }
  std::vector<UnendedRow> rows() {
    WaitSites sites(hand.profile);
    return find_unended_waits(Waits(hand.profile, {}), sites);
  }
  HandMade hand;
  model::ProcessId process = hand.process(10, "app");
  model::ModuleId app = hand.module("app"), libc = hand.module("libc.so.6");
  model::WaitObjectId futex = hand.object(model::ObjectKind::kFutex, "", 0x1000);
};

TEST_F(UnendedWaits, ArePutTogetherByTheirPlace) {
  for (int i = 0; i < 12; ++i) stays(thread("request"), i == 0 ? 2 : 0);
  const auto found = rows();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].site, "serve_request");
  EXPECT_EQ(found[0].threads, 12u);
  EXPECT_EQ(found[0].kind, FutexKind::kCondition);
  EXPECT_EQ(found[0].shortest_ns, 8'000'000'000u);
  EXPECT_EQ(found[0].longest_ns, 10'000'000'000u);
  EXPECT_FALSE(found[0].is_waker_gone) << "nothing is known about who would wake them";
}

TEST_F(UnendedWaits, NameTheWakerThatHasExited) {
  const auto refresher = thread("refresher");
  hand.profile.threads[refresher.value].end_ns = hand.profile.meta.start_ns + 6'000'000'000;
  const auto request = thread("request");
  wait(request, 0, 1).waker = refresher;
  wait(request, 1, 6).waker = refresher;
  stays(request, 6);
  const auto found = rows();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found[0].is_waker_gone);
  EXPECT_EQ(found[0].waker, "refresher");
  EXPECT_EQ(found[0].waker_ended_ns, 6'000'000'000u);
  // Another one that woke them still runs.
  hand.profile.waits.front().waker = thread("other");
  EXPECT_THAT(rows(), IsEmpty()) << "4 s of 10 are no news then";
}

TEST_F(UnendedWaits, AreLongOnesForThreadsAndNotForLocks) {
  stays(thread("late"), 6);
  wait(thread("locked"), 0, 10, "pthread_mutex_lock").unfinished = true;
  wait(thread("main"), 0, 10, "pthread_join").unfinished = true;
  wait(thread("served"), 0, 10);
  EXPECT_THAT(rows(), IsEmpty());
}

}  // namespace
}  // namespace fathom::analysis
