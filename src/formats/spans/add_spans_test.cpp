#include "formats/spans/add_spans.h"

#include <gtest/gtest.h>

#include "model/random_profile.h"

namespace fathom::formats {
namespace {

using namespace model;

// Ten seconds from second 100, of process 10 with the threads 10 and 11.
Profile recording() {
  Profile profile;
  profile.meta.start_ns = 100'000'000'000;
  profile.meta.end_ns = 110'000'000'000;
  profile.meta.start_unix_ns = 1'700'000'000'000'000'000;
  Process process;
  process.pid = 10;
  profile.processes.push_back(process);
  for (const int tid : {10, 11}) {
    Thread thread;
    thread.tid = tid;
    thread.ran_ns = 1'000'000'000;
    profile.threads.push_back(thread);
  }
  return profile;
}
void sleeps(Profile& profile, std::uint32_t thread, std::uint64_t from_ns, std::uint64_t ns) {
  Wait& wait = profile.waits.emplace_back();
  wait.thread = {thread};
  wait.start_ns = profile.meta.start_ns + from_ns;
  wait.waited_ns = ns;
}
SpanFile file_with(SpanClock clock, std::vector<FileSpan> spans) {
  SpanFile file;
  file.clock = clock;
  file.names = {"a"};
  file.spans = std::move(spans);
  return file;
}
AddedSpans add(Profile& profile, const SpanFile& file) {
  return add_spans(profile, file, asleep_times(profile));
}

TEST(AddSpans, ThreadsAreFoundByTheirNumberAndOthersCounted) {
  Profile profile = recording();
  const std::uint64_t at = profile.meta.start_ns + 5;
  const AddedSpans added =
      add(profile, file_with(SpanClock::kMonotonic, {{at, at + 1, 0, 10, 11, 0, 0, false},
                                                     {at, at + 1, 0, 10, 99, 0, 0, false},
                                                     {at, at + 1, 0, 55, 11, 0, 0, false},
                                                     {at, at + 1, 0, 10, 11, 3, 0, true}}));
  EXPECT_EQ(added.added, 4u);
  EXPECT_EQ(added.without_thread, 2u);
  EXPECT_EQ(profile.spans[0].thread, ThreadId{1});
  EXPECT_EQ(profile.spans[1].thread, kNoThread);
  EXPECT_EQ(profile.spans[2].thread, kNoThread) << "a thread of another process";
  EXPECT_EQ(profile.spans[3].thread, kNoThread) << "asynchronous";
  EXPECT_TRUE(check(profile));
}

TEST(AddSpans, SpansOutsideOfTheRecordingAreLeftOut) {
  Profile profile = recording();
  const std::uint64_t start = profile.meta.start_ns, end = profile.meta.end_ns;
  const AddedSpans added =
      add(profile, file_with(SpanClock::kMonotonic, {{1, 2, 0, 0, 10, 0, 0, false},
                                                     {start - 5, start + 5, 0, 0, 10, 0, 0, false},
                                                     {end - 1, end + 5, 0, 0, 10, 0, 0, false},
                                                     {end, end + 5, 0, 0, 10, 0, 0, false}}));
  EXPECT_EQ(added.added, 2u);
  EXPECT_EQ(added.outside, 2u);
}

TEST(AddSpans, ClocksAreRecognized) {
  const std::uint64_t unix_ns = 1'700'000'000'000'000'000, second = 1'000'000'000;
  struct Case {
    SpanClock clock;
    std::uint64_t start_ns, process_start_ns, expected_ns;
    SpanPlacement placement;
  };
  for (const Case& one :
       {Case{SpanClock::kUnix, unix_ns + second, 0, 101 * second, SpanPlacement::kByClock},
        {SpanClock::kUnknown, 101 * second, 0, 101 * second, SpanPlacement::kByClock},
        {SpanClock::kUnknown, unix_ns + second, 0, 101 * second, SpanPlacement::kByClock},
        {SpanClock::kUnknown, second, 101 * second, 102 * second, SpanPlacement::kProcessStart},
        {SpanClock::kUnknown, second, 0, 111 * second, SpanPlacement::kUnknown}}) {
    Profile profile = recording();
    profile.processes[0].start_ns = one.process_start_ns;
    const AddedSpans added =
        add(profile, file_with(one.clock, {{one.start_ns, one.start_ns + 5, 0, 10, 11, 0, 0, false}}));
    ASSERT_EQ(profile.spans.size(), 1u);
    EXPECT_EQ(added.placement, one.placement);
    EXPECT_EQ(profile.spans[0].start_ns, one.expected_ns);
    EXPECT_EQ(profile.spans[0].thread, one.placement == SpanPlacement::kUnknown ? kNoThread : ThreadId{1});
  }
}

// The program began to count 20 ms after its start, so that its spans would begin and end while their thread sleeps.
TEST(AddSpans, AStartOfTheProcessThatPutsSpansIntoWaitsIsNotBelieved) {
  constexpr std::uint64_t kMs = 1'000'000;
  for (const bool fits : {true, false}) {
    Profile profile = recording();
    profile.processes[0].start_ns = profile.meta.start_ns;
    std::vector<FileSpan> spans;
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t at = i * 50 * kMs + (fits ? 0 : 20 * kMs);
      spans.push_back(
          {at - (fits ? 0 : 20 * kMs), at - (fits ? 0 : 20 * kMs) + 10 * kMs, 0, 10, 11, 0, 0, false});
      sleeps(profile, 1, at + 10 * kMs, 40 * kMs);
    }
    const AddedSpans added = add(profile, file_with(SpanClock::kUnknown, spans));
    EXPECT_EQ(added.placement, fits ? SpanPlacement::kProcessStart : SpanPlacement::kUnknown);
    EXPECT_EQ(profile.spans[7].thread, fits ? ThreadId{1} : kNoThread);
  }
}

// Thread 11 sleeps most of the time, and thread 10 marks moments between its own short waits.
TEST(AddSpans, AFileWithoutThreadGetsTheOneThatWasAwake) {
  Profile profile = recording();
  std::vector<FileSpan> spans;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t at = i * 50'000'000;
    spans.push_back(
        {profile.meta.start_ns + at, profile.meta.start_ns + at + 20'000'000, 0, 0, 0, 0, 0, false});
    sleeps(profile, 0, at + 5'000'000, 10'000'000);
    sleeps(profile, 1, at, 49'000'000);
  }
  profile.threads.emplace_back().tid = 99;  // a stranger, of which nothing else is known
  SpanFile file = file_with(SpanClock::kMonotonic, spans);
  Profile other = profile;
  EXPECT_EQ(add(profile, file).without_thread, 0u);
  EXPECT_EQ(profile.spans[7].thread, ThreadId{0});

  // Two threads that are awake at all these moments: either may be meant.
  std::erase_if(other.waits, [](const Wait& wait) { return wait.thread == ThreadId{1}; });
  EXPECT_EQ(add(other, file).without_thread, 100u);
  EXPECT_EQ(other.spans[7].thread, kNoThread);
}

TEST(AddSpans, AFileThatIsReadTwiceIsAddedOnce) {
  Profile profile = recording();
  const std::uint64_t at = profile.meta.start_ns + 5;
  const SpanFile file = file_with(SpanClock::kMonotonic, {{at, at + 1, 0, 10, 11, 0, 0, false},
                                                          {at, at + 1, 0, 10, 11, 0, 0, false},
                                                          {at, at + 1, 0, 10, 99, 0, 0, false},
                                                          {at, at + 1, 0, 10, 11, 3, 0, true}});
  EXPECT_EQ(add(profile, file).added, 4u) << "equal spans of one file are several";
  const AddedSpans again = add(profile, file);
  EXPECT_EQ(again.added, 0u);
  EXPECT_EQ(again.known, 4u);
  EXPECT_EQ(again.without_thread, 0u);
  EXPECT_EQ(profile.spans.size(), 4u);
  SpanFile later = file;
  later.spans.push_back({at + 9, at + 10, 0, 10, 11, 0, 0, false});
  EXPECT_EQ(add(profile, later).added, 1u) << "the program wrote one more";
}

TEST(AddSpans, AnyFileLeavesAValidProfile) {
  for_each_profile(100, [](const Profile& random) {
    Profile profile = random;
    std::vector<FileSpan> spans;
    for (const Wait& wait : random.waits)
      spans.push_back({wait.start_ns, wait.start_ns + wait.waited_ns, 0,
                       random.processes[random.threads[wait.thread.value].process.value].pid,
                       wait.weight % 2 == 0 ? 0 : random.threads[wait.thread.value].tid, wait.argument, 0,
                       wait.throttled});
    for (const SpanClock clock : {SpanClock::kMonotonic, SpanClock::kUnix, SpanClock::kUnknown})
      add(profile, file_with(clock, spans));
    EXPECT_TRUE(check(profile));
  });
}

}  // namespace
}  // namespace fathom::formats
