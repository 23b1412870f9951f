#include "record/session/tracking/event_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/abi/walk.h"
#include "record/session/tracking/testing_source.h"

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
  EventSink sink{profile, processes, stacks};
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

// A record of the BPF ring that is too short was dropped and counted nowhere.
TEST_F(EventSinkTest, ARecordThatCannotBeReadIsCountedAsLost) {
  batch.samples = {sources::Lost{0, 1, sources::Lost::What::kMalformed}, sample(12, 77)};
  sink.take(batch);
  batch.samples = {sources::Lost{0, 2, sources::Lost::What::kMalformed}};
  sink.take(batch);
  EXPECT_EQ(profile.quality.lost_records, 3u);
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

// A stack through code that the kernel's walker did not know yet: copied, and walked here.
struct EarlySamples : EventSinkTest {
  static sources::MemoryMapped mapped(std::uint64_t time_ns, std::uint64_t start, std::uint64_t end) {
    sources::MemoryMapped event;
    event.time_ns = time_ns;
    event.pid = event.tid = 9;
    event.mapping.start = ProcessAddress{start};
    event.mapping.end = ProcessAddress{end};
    event.mapping.executable = true;
    return event;
  }
  // pc 0x21100 called from 0x11200, called from 0x1300: frames chained by their frame pointers, the last one has none.
  static sources::StackCopied copied(std::uint64_t time_ns, std::uint64_t id) {
    sources::StackCopied event;
    event.time_ns = event.seen.time_ns = time_ns;
    event.seen.stack_id = id;
    event.seen.pid = 9;
    event.seen.end = WALK_NO_MAPPING;
    event.instruction_pointer = 0x21100;
    event.stack_pointer = 0x7000'0000;
    event.frame_pointer = 0x7000'0010;
    const std::uint64_t words[] = {0, 0, 0x7000'0030, 0x11200, 0, 0, 0, 0x1300, 0, 0};
    event.stack.resize(sizeof(words));
    std::memcpy(event.stack.data(), words, sizeof(words));
    return event;
  }
  // What the profile has of the samples: addresses, leaf first, and how the walk ended.
  static std::vector<std::pair<std::vector<std::uint64_t>, int>> stacks_of(std::vector<Batch> batches) {
    SilentSource source;
    model::Profile profile;
    model::Builder builder{profile};
    symbolize::Worker symbols{symbolize::Options{}};
    ModuleCatalog modules{builder, symbols, {}};
    ProcessTable processes{profile, modules, source, true};
    StackResolver stacks{profile, builder, processes, modules, symbols, 1000};
    EventSink sink{profile, processes, stacks};
    processes.expect_exec(9, 1);
    for (Batch& batch : batches) sink.take(batch);
    sink.finish();
    std::vector<std::pair<std::vector<std::uint64_t>, int>> found;
    for (const model::Sample& taken : profile.samples) {
      auto& [addresses, end] = found.emplace_back();
      for (auto id = taken.stack; id.value != 0; id = profile.stacks[id.value].parent)
        addresses.push_back(profile.frames[profile.stacks[id.value].frame.value].address.value);
      end = taken.end;
    }
    return found;
  }
};

TEST_F(EarlySamples, AreWalkedWithTheMappingsOfTheirTimeWheneverThoseAreHeardOf) {
  const std::vector<sources::SideBandEvent> mappings = {
      mapped(2, 0x1000, 0x9000), mapped(10, 0x11000, 0x19000), mapped(20, 0x21000, 0x29000)};
  const std::vector<sources::Event> events = {copied(30, 5), sample(30, 5), sample(31, 6), copied(31, 6)};
  const auto expected = stacks_of({{.samples = events, .side_band = mappings}});
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[0].first, (std::vector<std::uint64_t>{0x21100, 0x111ff, 0x12ff}));
  EXPECT_NE(expected[0].second, WALK_NO_MAPPING);
  EXPECT_EQ(expected[1], expected[0]);
  // The side band is ahead of the samples by any number of mappings, and samples of one ring come in any order.
  for (std::size_t ahead = 0; ahead <= mappings.size(); ++ahead) {
    const auto middle = mappings.begin() + static_cast<std::ptrdiff_t>(ahead);
    std::vector<std::size_t> order = {0, 1, 2, 3};
    do {
      std::vector<sources::Event> shuffled;
      for (const std::size_t at : order) shuffled.push_back(events[at]);
      EXPECT_EQ(stacks_of({{.samples = {}, .side_band = {mappings.begin(), middle}},
                           {.samples = shuffled, .side_band = {middle, mappings.end()}}}),
                expected)
          << ahead;
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST_F(EarlySamples, DoNotUseMappingsThatCameLater) {
  const auto found = stacks_of({{.samples = {copied(15, 5), sample(15, 5)},
                                 .side_band = {mapped(2, 0x1000, 0x9000), mapped(10, 0x11000, 0x19000),
                                               mapped(20, 0x21000, 0x29000)}}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].second, WALK_NO_MAPPING);
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

TEST_F(EventSinkTest, TimeAfterTheEndOfAThreadIsNoTimeOfItsLife) {
  sources::Waited wait;
  wait.pid = wait.tid = 9;
  wait.out_ns = 20;
  wait.queued_ns = 5;
  sources::Waited taken_apart = wait;
  taken_apart.out_ns = 40;
  batch.samples = {wait, taken_apart};
  batch.side_band = {sources::ThreadStarted{10, 9, 9}, sources::ThreadEnded{30, 9, 9}};
  sink.take(batch);
  ASSERT_EQ(profile.waits.size(), 1u);
  EXPECT_EQ(profile.waits[0].start_ns, 20u);
}

// The stack comes before the signal, as it does in the ring.
TEST_F(EventSinkTest, FatalSignalKeepsItsStack) {
  sources::FatalSignal taken{
      .time_ns = 10, .pid = 9, .tid = 9, .stack_id = 1, .signal = 11, .code = 1, .address = 8};
  batch.samples = {stack(10, 1, {0x1100 | WALK_EXACT, 0x2200}), taken};
  sink.take(batch);
  const auto signals = sink.take_fatal_signals();
  ASSERT_EQ(signals.size(), 1u);
  EXPECT_EQ(signals[0].taken, taken);
  EXPECT_NE(signals[0].stack.stack.value, 0u);
  EXPECT_TRUE(sink.take_fatal_signals().empty());
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

// An outside observer sees the stack after the wait has begun, and the wait is not a sample.
TEST_F(EventSinkTest, WaitGetsAStackThatIsSeenLaterAndIsNeverALostSample) {
  sources::Waited wait;
  wait.out_ns = 100;
  wait.waited_ns = 50;
  wait.pid = 9;
  wait.tid = 9;
  wait.stack_id = 5;
  wait.state = 1;
  batch.samples = {wait, stack(120, 5, {0x1100 | WALK_EXACT})};
  sink.take(batch);
  wait.out_ns = 200;
  wait.stack_id = 6;
  batch.samples = {wait};
  sink.take(batch);
  sink.finish();
  ASSERT_EQ(profile.waits.size(), 2u);
  EXPECT_NE(profile.waits[0].stack.value, 0u);
  EXPECT_EQ(profile.waits[1].stack.value, 0u);
  EXPECT_EQ(profile.quality.lost_stack, 0u);
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
