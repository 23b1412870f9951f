#include "analysis/waits/async_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A worker of tokio, sampled 100 times a second.
class AsyncTasks : public testing::Test {
 protected:
  std::vector<model::FrameId> polled(const std::vector<std::string>& inner) {
    std::vector<model::FrameId> frames{
        hand.frame(app, {"tokio::runtime::blocking::pool::Inner::run"}),
        hand.frame(app, {"tokio::runtime::scheduler::multi_thread::worker::run"}),
        hand.frame(app, {"tokio::runtime::scheduler::multi_thread::worker::Context::run_task"}),
        hand.frame(app, {"tokio::runtime::task::raw::RawTask::poll"}),
        hand.frame(app, {"tokio::runtime::task::core::Core<T,S>::poll::{{closure}}"})};
    for (const std::string& name : inner) frames.push_back(hand.frame(app, {name}));
    return frames;
  }
  std::vector<AsyncTaskRow> rows() {
    WaitSites sites(hand.profile);
    return find_async_tasks(Waits(hand.profile, {}), {}, sites);
  }
  HandMade hand;
  model::ProcessId process = hand.process(10, "shop");
  model::ThreadId worker = hand.thread(process, 11, "tokio-rt-worker");
  model::ModuleId app = hand.module("shop", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
};

TEST_F(AsyncTasks, ABlockedPollIsOfTheTaskAndNamesThePlace) {
  const auto stack = hand.stack(
      polled({"core::future::poll_fn", "shop::serve::{{closure}}", "shop::save", "std::thread::sleep"}));
  hand.wait(worker, stack, "clock_nanosleep", 1, 120);
  hand.wait(worker, stack, "clock_nanosleep", 2, 80);
  const auto found = rows();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].task, "shop::serve::{{closure}}");
  EXPECT_EQ(found[0].site, "shop::save");
  EXPECT_EQ(found[0].cause, Cause::kSleep);
  EXPECT_EQ(found[0].blocked.total_ns(), 200'000'000);
  EXPECT_EQ(found[0].blocked.max_ns(), 120'000'000u);
  EXPECT_EQ(found[0].longest_ns, 120'000'000u);
}

TEST_F(AsyncTasks, AClosureOfSpawnBlockingMayBlock) {
  auto frames = polled({});
  frames.push_back(hand.frame(app, {"tokio::task::block_in_place"}));
  frames.push_back(hand.frame(app, {"shop::save"}));
  hand.wait(worker, hand.stack(frames), "fsync", 1, 120);
  frames = {hand.frame(app, {"tokio::runtime::blocking::pool::Inner::run"}),
            hand.frame(app, {"tokio::runtime::task::raw::poll"}), hand.frame(app, {"shop::save"})};
  hand.wait(worker, hand.stack(frames), "fsync", 2, 120);
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(AsyncTasks, ATaskHoldsItsWorkerFromItsFirstSampleToItsLast) {
  const auto long_one = hand.stack(polled({"shop::import::{{closure}}", "shop::decode"}));
  const auto short_one = hand.stack(polled({"shop::ping::{{closure}}"}));
  const auto at = [&](double s, model::StackId stack) {
    hand.sample(worker, stack, 1);
    hand.profile.samples.back().time_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(s * 1e9);
  };
  for (int i = 0; i < 8; ++i) at(1 + i * 0.01, long_one);
  at(1.08, short_one);
  at(1.09, long_one);
  const auto found = rows();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].task, "shop::import::{{closure}}");
  EXPECT_NEAR(static_cast<double>(found[0].longest_ns), 70e6, 1e6);
  EXPECT_NEAR(found[0].ran_ns, 90e6, 1e6);
  EXPECT_EQ(found[1].longest_ns, 0u);
}

// More samples than are looked at together: the poll goes on from one piece of the time to the next.
TEST_F(AsyncTasks, ATaskOfManySamplesIsHeldForAllOfThem) {
  const auto stack = hand.stack(polled({"shop::import::{{closure}}", "shop::decode"}));
  constexpr std::uint64_t kSamples = 1'100'000, kApart = 9'000;  // 9.9 of the ten seconds
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    hand.sample(worker, stack, 1);
    hand.profile.samples.back().time_ns = hand.profile.meta.start_ns + i * kApart;
  }
  const auto found = rows();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].longest_ns, (kSamples - 1) * kApart);
}

}  // namespace
}  // namespace fathom::analysis
