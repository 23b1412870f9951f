#include "model/event_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model/facts.h"

namespace fathom::model {
namespace {

// Random samples of CPU time and of three events, and what they add up to.
struct Recording {
  Profile profile;
  std::map<std::string, std::int64_t> sums;
  explicit Recording(unsigned seed, bool cpu = true) {
    std::mt19937 random(seed);
    Builder builder(profile);
    profile.processes.emplace_back().pid = 7;
    profile.threads.emplace_back().tid = 7;
    Module app;
    app.kind = ModuleKind::kNames;
    app.name = builder.string("app");
    const ModuleId names = builder.module(app);
    const std::string events[] = {"page-faults", "block:block_rq_issue", "block:block_rq_complete"};
    if (cpu) profile.meta.event = "cpu-clock";
    std::vector<RecordedEvent> recorded;
    for (const std::string& event : events)
      recorded.push_back({.name = event, .unit = event == "page-faults" ? event : "bytes"});
    for (int i = 0; i < 200; ++i) {
      Sample sample;
      sample.value = static_cast<std::int64_t>(1 + random() % 9);
      sample.stack = builder.stack({}, builder.named_frame("f" + std::to_string(random() % 5), names));
      const std::size_t which = random() % 4;
      if (which < 3) {
        sample.metric = Metric::kWall;
        sample.stack = builder.stack(sample.stack, event_frame(builder, events[which]));
        ++recorded[which].samples;
        ++recorded[which].count;
        recorded[which].value += sample.value;
      } else if (!cpu) {
        continue;
      }
      sums[which < 3 ? events[which] : "cpu"] += sample.value;
      profile.samples.push_back(sample);
    }
    profile.meta.facts[kEventsFact] = events_fact(recorded);
  }
  std::int64_t sum() const {
    std::int64_t sum = 0;
    for (const Sample& sample : profile.samples) {
      EXPECT_EQ(sample.metric, Metric::kCpu);
      sum += sample.value;
    }
    return sum;
  }
  // Whether the stacks of all samples end in a frame of an event.
  bool shows_events() const {
    for (const Sample& sample : profile.samples) {
      const Frame& frame = profile.frames[profile.stacks[sample.stack.value].frame.value];
      if (profile.strings[profile.modules[frame.module.value].name] != kEventModule) return false;
    }
    return true;
  }
};

TEST(EventSamples, EachEventHasItsOwnAndNoneIsLostOrCountedTwice) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Recording whole(seed);
    for (const auto& [event, sum] : whole.sums) {
      Recording one(seed);
      ASSERT_TRUE(choose_events(one.profile, event == "cpu" ? "" : event)) << event;
      EXPECT_EQ(one.sum(), sum) << event << " seed " << seed;
      EXPECT_FALSE(one.shows_events()) << event;
      EXPECT_TRUE(check(one.profile));
      EXPECT_EQ(one.profile.meta.event, event == "cpu" ? "cpu-clock" : event);
    }
    Recording block(seed);
    ASSERT_TRUE(choose_events(block.profile, "block:*"));
    EXPECT_EQ(block.sum(), whole.sums.at("block:block_rq_issue") + whole.sums.at("block:block_rq_complete"));
    EXPECT_TRUE(block.shows_events()) << "of several the frame says which";
    EXPECT_EQ(facts_of<ImportFacts>(block.profile.meta).unit, "bytes");
  }
}

TEST(EventSamples, WithoutCpuSamplesTheFirstEventIsWhatThereIs) {
  Recording events(1, false);
  ASSERT_TRUE(choose_events(events.profile, ""));
  EXPECT_EQ(events.profile.meta.event, "page-faults");
  EXPECT_EQ(events.sum(), events.sums.at("page-faults"));
}

TEST(EventSamples, AnEventThatWasNotRecordedIsAnError) {
  Recording events(1);
  EXPECT_EQ(choose_events(events.profile, "major-faults").error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(names_event(events.profile.meta, "major-faults"));
  EXPECT_FALSE(names_event(events.profile.meta, ""));
  EXPECT_TRUE(names_event(events.profile.meta, "block:*"));
  Profile other;
  other.meta.event = "cycles";
  EXPECT_TRUE(choose_events(other, "")) << "a file without events is left as it is";
  EXPECT_FALSE(names_event(other.meta, "cycles"));
}

TEST(EventSamples, TheFactIsReadBackAndBrokenLinesAreLeftOut) {
  const std::vector<RecordedEvent> events = {
      {.name = "page-faults", .count = 12, .value = 12, .samples = 11, .lost = 1, .unit = "page-faults"},
      {.name = "block:x", .count = 3, .value = -4096, .samples = 3, .lost = 0, .unit = "bytes"}};
  Meta meta;
  meta.facts[kEventsFact] = events_fact(events);
  EXPECT_EQ(recorded_events(meta), events);
  const std::string whole = meta.facts[kEventsFact];
  for (std::size_t size = 0; size < whole.size(); ++size) {
    meta.facts[kEventsFact] = whole.substr(0, size);
    EXPECT_LE(recorded_events(meta).size(), 2u);
  }
  meta.facts[kEventsFact] = "x\n\ny 1 2 3\nz a b c d e\n" + whole;
  EXPECT_EQ(recorded_events(meta), events);
}

TEST(EventSamples, AreExactOnlyWhereEachEventHasASample) {
  for (const bool all : {true, false}) {
    Recording events(3);
    auto recorded = recorded_events(events.profile.meta);
    if (!all) recorded[0].count *= 2;
    events.profile.meta.facts[kEventsFact] = events_fact(recorded);
    ASSERT_TRUE(choose_events(events.profile, "page-faults"));
    EXPECT_EQ(facts_of<ImportFacts>(events.profile.meta).counts_all, all);
  }
}

}  // namespace
}  // namespace fathom::model
