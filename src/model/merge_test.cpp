#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "model/profile.h"
#include "model/random_profile.h"

namespace fathom::model {
namespace {

// What a sample says, without row numbers: thread, then frames from leaf to root with module, address and
// names.
std::string content(const Profile& profile, ThreadId id) {
  const Thread& thread = profile.threads[id.value];
  const Process& process = profile.processes[thread.process.value];
  return std::to_string(process.pid) + "/" + std::to_string(thread.tid) + " " +
         std::string(profile.strings[thread.name]);
}
std::string content(const Profile& profile, StackId stack) {
  std::string text;
  for (StackId id = stack; id.value != 0; id = profile.stacks[id.value].parent) {
    const Frame& frame = profile.frames[profile.stacks[id.value].frame.value];
    text += "\n" + profile.pseudo_name(frame);
    for (std::uint32_t i = 0; i < frame.line_count; ++i) {
      const Line& line = profile.lines[frame.first_line + i];
      text += " " + std::string(profile.strings[profile.functions[line.function.value].name]) + "@" +
              std::string(profile.strings[line.file]) + ":" + std::to_string(line.line);
    }
  }
  return text;
}
std::string content(const Profile& profile, const Sample& sample) {
  return content(profile, sample.thread) + " " + std::string(to_string(sample.metric)) +
         content(profile, sample.stack);
}
std::string content(const Profile& profile, const Wait& wait) {
  const WaitObject& object = profile.objects[wait.object.value];
  return content(profile, wait.thread) + content(profile, wait.stack) + "\nwoken by " +
         (wait.waker == kNoThread ? "nobody" : content(profile, wait.waker)) +
         content(profile, wait.waker_stack) + "\nfor " + std::to_string(static_cast<int>(object.kind)) + " " +
         std::string(profile.strings[object.name]) + " " + std::to_string(object.address) + " of " +
         std::to_string(object.pid);
}
std::string content(const Profile& profile, const Span& span) {
  return (span.thread == kNoThread ? "no thread" : content(profile, span.thread)) + " " +
         std::string(profile.strings[span.name]) + " " + std::to_string(span.start_ns) + " " +
         std::to_string(span.end_ns) + " " + std::to_string(static_cast<int>(span.source)) + " " +
         std::to_string(span.id) + " " + std::to_string(span.parent);
}
// What a wait says of itself, without what it refers to.
Wait alone(Wait wait) {
  wait.thread = {};
  wait.waker = kNoThread;
  wait.stack = wait.waker_stack = {};
  wait.object = {};
  return wait;
}

// Unsigned, as sums of extreme values may wrap.
std::map<std::string, std::uint64_t> sums(const Profile& profile) {
  std::map<std::string, std::uint64_t> result;
  for (const Sample& sample : profile.samples)
    result[content(profile, sample)] += static_cast<std::uint64_t>(sample.value);
  return result;
}

TEST(Merge, IntoAnEmptyProfileKeepsEverySampleWithItsContent) {
  for_each_profile(100, [](const Profile& profile) {
    Profile into;
    merge(into, profile);
    ASSERT_TRUE(check(into));
    ASSERT_EQ(into.samples.size(), profile.samples.size());
    for (std::size_t i = 0; i < profile.samples.size(); ++i)
      ASSERT_EQ(content(into, into.samples[i]), content(profile, profile.samples[i]));
    ASSERT_EQ(into.waits.size(), profile.waits.size());
    for (std::size_t i = 0; i < profile.waits.size(); ++i) {
      ASSERT_EQ(content(into, into.waits[i]), content(profile, profile.waits[i]));
      ASSERT_EQ(alone(into.waits[i]), alone(profile.waits[i]));
    }
    EXPECT_EQ(into.objects.size(), profile.objects.size());
    ASSERT_EQ(into.spans.size(), profile.spans.size());
    for (std::size_t i = 0; i < profile.spans.size(); ++i)
      ASSERT_EQ(content(into, into.spans[i]), content(profile, profile.spans[i]));
    EXPECT_EQ(into.meta, profile.meta);
    EXPECT_EQ(into.stacks.size(), profile.stacks.size());
    EXPECT_EQ(into.series.size(), profile.series.size());
  });
}

TEST(Merge, WithItselfDoublesSumsAndCountsAndAddsNoRows) {
  for_each_profile(100, [](const Profile& profile) {
    Profile twice = profile;
    merge(twice, profile);
    ASSERT_TRUE(check(twice));
    EXPECT_EQ(twice.stacks, profile.stacks);
    EXPECT_EQ(twice.frames, profile.frames);
    EXPECT_EQ(twice.modules, profile.modules);
    EXPECT_EQ(twice.processes, profile.processes);
    EXPECT_EQ(twice.threads.size(), profile.threads.size());
    EXPECT_EQ(twice.objects, profile.objects);
    ASSERT_EQ(twice.waits.size(), 2 * profile.waits.size());
    for (std::size_t i = 0; i < profile.waits.size(); ++i)
      EXPECT_EQ(twice.waits[profile.waits.size() + i], profile.waits[i]);
    auto expected = sums(profile);
    for (auto& entry : expected) entry.second *= 2;
    EXPECT_EQ(sums(twice), expected);
    EXPECT_EQ(twice.quality.lost_ring_full, 2 * profile.quality.lost_ring_full);
    EXPECT_EQ(twice.quality.waits, 2 * profile.quality.waits);
    EXPECT_EQ(twice.quality.unwalked_ns, 2 * profile.quality.unwalked_ns);
    EXPECT_EQ(twice.quality.early_ends.size(), profile.quality.early_ends.size());
    EXPECT_EQ(twice.quality.notes, profile.quality.notes);
    EXPECT_EQ(twice.quality.target_stop_ns, profile.quality.target_stop_ns);
  });
}

TEST(Merge, OfTwoKeepsTheSumOfEveryStackOfBoth) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Profile a = random_profile(seed);
    const Profile b = random_profile(seed + 1000);
    // Frames without a name in one side may be named in the result, so only totals are compared.
    Profile both = a;
    merge(both, b);
    ASSERT_TRUE(check(both));
    std::uint64_t expected = 0, total = 0;
    for (const auto& side : {a, b})
      for (const Sample& sample : side.samples) expected += static_cast<std::uint64_t>(sample.value);
    for (const Sample& sample : both.samples) total += static_cast<std::uint64_t>(sample.value);
    EXPECT_EQ(total, expected);
    EXPECT_EQ(both.quality.samples, a.quality.samples + b.quality.samples);
  }
}

TEST(Merge, ProfileIntoItselfIsTheSameAsWithACopy) {
  Profile profile = random_profile(7);
  Profile copy = profile;
  merge(copy, random_profile(7));
  merge(profile, profile);
  EXPECT_EQ(profile, copy);
}

struct NamedAddress {
  Profile profile;
  FrameId frame;
  explicit NamedAddress(std::string_view name) {
    Builder builder(profile);
    Module module;
    module.kind = ModuleKind::kAnonymous;
    module.name = builder.string("[code]");
    frame = builder.frame(builder.module(module), {0x7000});
    if (!name.empty()) builder.name_frame(frame, {{name, "", 0}});
    builder.stack({0}, frame);
  }
};

TEST(Merge, NameThatOneSideKnowsIsKept) {
  for (const bool first : {true, false}) {
    NamedAddress a(first ? "jitted" : ""), b(first ? "" : "jitted");
    merge(a.profile, b.profile);
    ASSERT_EQ(a.profile.frames.size(), 1u);
    EXPECT_EQ(a.profile.frames[0].line_count, 1u);
  }
}

TEST(Merge, AddressWithTwoNamesBecomesTwoFrames) {
  NamedAddress a("jitted_one"), b("jitted_two");
  merge(a.profile, b.profile);
  merge(a.profile, b.profile);
  EXPECT_EQ(a.profile.frames.size(), 2u);
  EXPECT_EQ(a.profile.stacks.size(), 3u);
}

TEST(Merge, ThreadsJoinAndTheirTimesAddUp) {
  Profile a;
  a.processes.emplace_back().pid = 7;
  a.threads.emplace_back().tid = 8;
  a.threads[0].cpu_ns = 100;
  a.threads[0].waited_ns = 1000;
  Profile b = a;
  b.threads[0].cpu_ns = 11;
  b.threads[0].end_ns = 5;
  b.threads.emplace_back().tid = 9;
  merge(a, b);
  ASSERT_EQ(a.processes.size(), 1u);
  ASSERT_EQ(a.threads.size(), 2u);
  EXPECT_EQ(a.threads[0].cpu_ns, 111u);
  EXPECT_EQ(a.threads[0].waited_ns, 2000u);
  EXPECT_EQ(a.threads[0].end_ns, 5u);
}

TEST(Merge, ObjectsJoinByContentAndOfTwoProcessesStayApart) {
  const auto waiting_for = [](std::string_view other_text, std::int32_t pid) {
    Profile profile;
    Builder builder(profile);
    builder.string(other_text);  // so that the ids of names differ
    profile.processes.emplace_back();
    profile.threads.emplace_back();
    profile.objects.push_back({ObjectKind::kFile, builder.string("/data/log"), 0, 0});
    profile.objects.push_back({ObjectKind::kFutex, {}, 0x7000, pid});
    for (const std::uint32_t object : {0u, 1u, 2u}) profile.waits.emplace_back().object = {object};
    return profile;
  };
  Profile a = waiting_for("a", 7);
  merge(a, waiting_for("b", 8));
  ASSERT_TRUE(check(a));
  ASSERT_EQ(a.objects.size(), 4u);
  std::vector<std::uint32_t> objects;
  for (const Wait& wait : a.waits) objects.push_back(wait.object.value);
  EXPECT_EQ(objects, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 3}));
}

TEST(Merge, SpanOfTimeCoversBothAndFactsAreJoined) {
  Profile a, b;
  a.meta.start_ns = 100;
  a.meta.end_ns = 200;
  a.meta.start_unix_ns = 5100;
  a.meta.facts = {{"host", "x"}};
  b.meta.start_ns = 50;
  b.meta.end_ns = 150;
  b.meta.start_unix_ns = 5050;
  b.meta.facts = {{"host", "y"}, {"cpus", "2"}};
  merge(a, b);
  EXPECT_EQ(a.meta.start_ns, 50u);
  EXPECT_EQ(a.meta.start_unix_ns, 5050u);
  EXPECT_EQ(a.meta.end_ns, 200u);
  EXPECT_EQ(a.meta.facts, (std::map<std::string, std::string>{{"host", "x"}, {"cpus", "2"}}));
}

TEST(Merge, WhatTheRecordingsCostIsAddedUpAndUnknownWhereOneDoesNotTell) {
  Profile a, b;
  a.meta.start_ns = b.meta.start_ns = 1;
  a.meta.facts = {{"own_start_us", "5"}, {"own_recording_us", "10"}};
  b.meta.facts = {{"own_start_us", "7"}};
  merge(a, b);
  EXPECT_EQ(a.meta.facts, (std::map<std::string, std::string>{{"own_start_us", "12"}}));
}

}  // namespace
}  // namespace fathom::model
