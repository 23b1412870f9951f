#include "session/tracking/event_sink.h"

#include <gtest/gtest.h>

#include "abi/walk.h"
#include "session/tracking/testing_source.h"

namespace fathom::session {
namespace {

struct EventSinkTest : testing::Test {
  EventSinkTest() {
    processes.expect_exec(9, 1);
    sources::MemoryMapped code;
    code.time_ns = 2;
    code.pid = code.tid = 9;
    code.mapping.start = ProcessAddress{0x1000};
    code.mapping.end = ProcessAddress{0x9000};
    code.mapping.executable = true;
    processes.apply(code);
  }
  static sources::StackSeen stack(std::uint64_t time_ns, std::uint64_t id, std::vector<std::uint64_t> user,
                                  std::uint8_t end = WALK_ROOT) {
    sources::StackSeen seen;
    seen.time_ns = time_ns;
    seen.stack_id = id;
    seen.pid = 9;
    seen.user = std::move(user);
    seen.end = end;
    return seen;
  }
  static sources::StackSample sample(std::uint64_t time_ns, std::uint64_t id) {
    sources::StackSample taken;
    taken.time_ns = time_ns;
    taken.stack_id = id;
    taken.tid = 9;
    return taken;
  }

  model::Profile profile;
  model::Builder builder{profile};
  symbolize::Worker symbols{symbolize::Options{}};
  SilentSource source;
  ModuleCatalog modules{builder, symbols, {}};
  ProcessTable processes{profile, modules, source, true};
  StackResolver stacks{profile, builder, processes, modules, symbols, 1000};
  EventSink sink{profile, processes, stacks, source};
  Batch batch;
};

TEST_F(EventSinkTest, EverySampleIsStoredOrCountedAsLost) {
  batch.samples = {stack(10, 1, {0x1100 | WALK_EXACT, 0x2200}), sample(10, 1), sample(11, 1), sample(12, 77)};
  sink.take(batch);
  sink.finish();
  EXPECT_EQ(profile.samples.size(), 2u);
  EXPECT_EQ(profile.quality.samples, 2u);
  EXPECT_EQ(profile.quality.complete, 2u);
  EXPECT_EQ(profile.quality.lost_stack, 1u);
}

TEST_F(EventSinkTest, SampleWaitsForAStackThatComesLater) {
  batch.samples = {sample(10, 5)};
  sink.take(batch);
  EXPECT_TRUE(profile.samples.empty());
  batch.samples = {stack(20, 5, {0x1100 | WALK_EXACT})};
  sink.take(batch);
  sink.finish();
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples[0].time_ns, 10u);
  EXPECT_EQ(profile.quality.lost_stack, 0u);
}

TEST_F(EventSinkTest, ReturnAddressesAreLookedUpInsideTheCall) {
  batch.samples = {stack(10, 1, {0x1100 | WALK_EXACT, 0x2200, 0x3300 | WALK_EXACT}), sample(10, 1)};
  sink.take(batch);
  std::vector<std::uint64_t> addresses;
  for (auto id = profile.samples.at(0).stack; id.value != 0; id = profile.stacks[id.value].parent)
    addresses.push_back(profile.frames[profile.stacks[id.value].frame.value].address.value);
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{0x1100, 0x21ff, 0x3300}));
}

TEST_F(EventSinkTest, EarlyEndsAreCountedByReasonAndModule) {
  batch.samples = {stack(10, 1, {0x1100 | WALK_EXACT}, WALK_NO_RULE), sample(10, 1), sample(11, 1),
                   stack(12, 2, {0x1100 | WALK_EXACT, 0x777777}, WALK_NO_MAPPING), sample(12, 2)};
  sink.take(batch);
  ASSERT_EQ(profile.quality.early_ends.size(), 2u);
  EXPECT_EQ(profile.quality.early_ends[0].reason, WALK_NO_MAPPING);
  EXPECT_EQ(profile.quality.early_ends[0].module.value, 0u);
  EXPECT_EQ(profile.quality.early_ends[1].count, 2u);
  EXPECT_EQ(sink.take_doubtful_processes(), std::vector<std::int32_t>{9});
}

TEST_F(EventSinkTest, AddressIsResolvedWithTheMappingsOfItsTime) {
  sources::ProcessExeced exec{15, 9, 9, "next"};
  batch.side_band = {exec};
  batch.samples = {stack(10, 1, {0x1100 | WALK_EXACT}), sample(10, 1), stack(20, 2, {0x1100 | WALK_EXACT}),
                   sample(20, 2)};
  sink.take(batch);
  ASSERT_EQ(profile.samples.size(), 2u);
  const auto module_of = [&](const model::Sample& taken) {
    return profile.frames[profile.stacks[taken.stack.value].frame.value].module.value;
  };
  EXPECT_NE(module_of(profile.samples[0]), 0u);
  EXPECT_EQ(module_of(profile.samples[1]), 0u);
}

TEST_F(EventSinkTest, WaitKeepsItsTimesItsCauseAndItsWaker) {
  sources::Waited wait;
  wait.out_ns = 100;
  wait.waited_ns = 50;
  wait.queued_ns = 7;
  wait.pid = wait.tid = 9;
  wait.waker_pid = wait.waker_tid = 9;
  wait.stack_id = 3;
  wait.state = 1;
  wait.system_call = 202;  // futex
  wait.arguments[0] = 0xabc0;
  wait.arguments[1] = 128;
  wait.weight = 4;
  wait.result = -11;
  batch.samples = {wait, stack(100, 3, {0x1100 | WALK_EXACT})};
  sink.take(batch);
  ASSERT_EQ(profile.waits.size(), 1u);
  const model::Wait& row = profile.waits[0];
  EXPECT_EQ(row.start_ns, 100u);
  EXPECT_EQ(row.waited_ns, 50u);
  EXPECT_EQ(row.queued_ns, 7u);
  EXPECT_NE(row.stack.value, 0u);
  EXPECT_EQ(row.weight, 4u);
  EXPECT_EQ(row.argument, 128u);
  EXPECT_EQ(row.result, -11);
  EXPECT_EQ(row.waker, row.thread);
  EXPECT_EQ(profile.objects.at(row.object.value).kind, model::ObjectKind::kFutex);
  EXPECT_EQ(profile.objects.at(row.object.value).address, 0xabc0u);
}

TEST_F(EventSinkTest, PageFaultKeepsItsStackAndItsWeight) {
  batch.samples = {stack(100, 3, {0x1100 | WALK_EXACT}), sources::PageFault{100, 9, 9, 3, 0x5123, 64, false},
                   sources::PageFault{101, 9, 9, 77, 0x6123, 1, true}};
  sink.take(batch);
  ASSERT_EQ(profile.faults.size(), 2u);
  EXPECT_EQ(profile.faults[0].weight, 64u);
  EXPECT_NE(profile.faults[0].stack.value, 0u);
  EXPECT_FALSE(profile.faults[0].major);
  EXPECT_EQ(profile.objects.at(profile.faults[0].object.value).kind, model::ObjectKind::kMemory);
  EXPECT_EQ(profile.faults[0].offset, 0x5000u);
  EXPECT_TRUE(profile.faults[1].major);  // its stack is lost, it is not
  EXPECT_EQ(profile.faults[1].stack.value, 0u);
}

TEST_F(EventSinkTest, TimesOfAThreadThatWasBornAndEndedInOneBatchAreBooked) {
  batch.side_band = {sources::ThreadStarted{10, 9, 12}, sources::ThreadEnded{30, 9, 12}};
  sources::ThreadWaitTime times;
  times.time_ns = 29;
  times.pid = 9;
  times.tid = 12;
  times.ran_ns = 5;
  times.waited_ns = 14;
  batch.samples = {times};
  sink.take(batch);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].tid, 12);
  EXPECT_EQ(profile.threads[0].start_ns, 10u);
  EXPECT_EQ(profile.threads[0].end_ns, 30u);
  EXPECT_EQ(profile.threads[0].waited_ns, 14u);
}

TEST_F(EventSinkTest, StackThatIsMetAgainAndAgainIsNotForgottenForThoseThatAreNot) {
  batch.samples = {stack(10, 1, {0x1100 | WALK_EXACT})};
  sink.take(batch);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    batch.samples.push_back(stack(20 + i, 1000 + i, {0x2200 | WALK_EXACT}));
    if (i % 100'000 == 0) batch.samples.push_back(sample(20 + i, 1));
  }
  sink.take(batch);
  sink.finish();
  EXPECT_EQ(profile.quality.lost_stack, 0u);
  EXPECT_EQ(profile.samples.size(), 10u);
  EXPECT_LE(sink.remembered(), 500'000u);
}

TEST_F(EventSinkTest, FullStackTableIsCountedAndKeepsTheSamples) {
  for (std::uint64_t i = 0; i < 1500; ++i) {
    batch.samples.push_back(stack(10 + i, i + 1, {(0x1000 + i) | WALK_EXACT}));
    batch.samples.push_back(sample(10 + i, i + 1));
  }
  sink.take(batch);
  EXPECT_EQ(profile.samples.size(), 1500u);
  EXPECT_GT(stacks.stacks_refused(), 0u);
  EXPECT_LE(profile.stacks.size(), 1001u);
}

}  // namespace
}  // namespace fathom::session
