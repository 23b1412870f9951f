#include "present/exports/perfetto_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>
#include <set>

#include "analysis/heap/hand_made_heap.h"
#include "formats/pprof/wire.h"
#include "model/marks.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using formats::WireFields;
using testing::ElementsAre;
using testing::HasSubstr;

// A message as its fields by number.
class Message {
 public:
  Message() = default;
  explicit Message(std::string_view bytes) {
    WireFields fields(bytes);
    while (fields.next()) {
      if (fields.is_bytes())
        texts_[fields.number()].emplace_back(fields.bytes());
      else
        numbers_[fields.number()].push_back(fields.value());
    }
    EXPECT_TRUE(fields.ok());
  }
  std::uint64_t number(std::uint32_t field) const {
    const auto at = numbers_.find(field);
    return at == numbers_.end() ? 0 : at->second.back();
  }
  std::vector<std::uint64_t> numbers(std::uint32_t field) const {
    const auto at = numbers_.find(field);
    return at == numbers_.end() ? std::vector<std::uint64_t>() : at->second;
  }
  std::string text(std::uint32_t field) const {
    const auto at = texts_.find(field);
    return at == texts_.end() ? "" : at->second.front();
  }
  std::vector<Message> messages(std::uint32_t field) const {
    std::vector<Message> all;
    if (const auto at = texts_.find(field); at != texts_.end())
      for (const std::string& bytes : at->second) all.emplace_back(bytes);
    return all;
  }
  Message message(std::uint32_t field) const { return Message(text(field)); }
  bool has(std::uint32_t field) const { return texts_.contains(field) || numbers_.contains(field); }

 private:
  std::map<std::uint32_t, std::vector<std::uint64_t>> numbers_;
  std::map<std::uint32_t, std::vector<std::string>> texts_;
};

// A trace as its reader understands it: names are known from the packet on that brings them.
struct Trace {
  struct Slice {
    std::string thread, name, what;
    std::uint64_t start = 0, end = 0;
    std::vector<std::string> stack;
    auto operator<=>(const Slice&) const = default;
  };
  std::vector<std::pair<std::string, std::vector<std::string>>> samples;  // thread and stack, outermost first
  std::vector<std::uint64_t> sample_times;
  std::map<std::string, std::vector<std::pair<std::uint64_t, double>>> counters;
  std::vector<Slice> slices;
  std::vector<std::string> wakes;
  std::set<std::uint64_t> flows_begun, flows_ended;

  explicit Trace(const std::string& bytes) {
    for (const Message& packet : Message(bytes).messages(1)) take(packet);
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << "a slice without an end";
  }

 private:
  void intern(const Message& data) {
    for (const auto& [field, table] :
         {std::pair(2, &events_), std::pair(5, &functions_), std::pair(17, &paths_), std::pair(18, &files_)})
      for (const Message& row : data.messages(static_cast<std::uint32_t>(field)))
        EXPECT_TRUE(table->emplace(row.number(1), row.text(2)).second);
    for (const Message& row : data.messages(19)) {
      EXPECT_TRUE(mappings_.insert(row.number(1)).second);
      for (const std::uint64_t part : row.numbers(7)) EXPECT_TRUE(paths_.contains(part));
    }
    for (const Message& row : data.messages(6)) {
      EXPECT_TRUE(mappings_.contains(row.number(3)));
      EXPECT_TRUE(row.number(5) == 0 || files_.contains(row.number(5)));
      frames_[row.number(1)] = functions_.at(row.number(2));
    }
    for (const Message& row : data.messages(7))
      for (const std::uint64_t frame : row.numbers(2)) stacks_[row.number(1)].push_back(frames_.at(frame));
  }
  std::vector<std::string> stack(std::uint64_t number) const {
    return number == 0 ? std::vector<std::string>() : stacks_.at(number);
  }

  void take(const Message& packet) {
    EXPECT_EQ(packet.number(10), 1U);
    EXPECT_EQ(packet.number(13), first_ ? 3U : 2U);
    if (first_) {
      EXPECT_EQ(packet.message(6).number(2), 3U) << "CLOCK_MONOTONIC";
      EXPECT_EQ(packet.message(59).number(58), 3U);
    }
    first_ = false;
    intern(packet.message(12));
    if (packet.has(60)) describe(packet.message(60));
    if (packet.has(66)) {
      const Message row = packet.message(66);
      samples.emplace_back(threads_.at(row.number(3)), stack(row.number(4)));
      sample_times.push_back(packet.number(8));
    }
    if (packet.has(11)) event(packet.number(8), packet.message(11));
  }

  void describe(const Message& track) {
    EXPECT_TRUE(tracks_.insert(track.number(1)).second);
    EXPECT_TRUE(track.number(5) == 0 || tracks_.contains(track.number(5)));
    if (track.has(4)) {
      names_[track.number(1)] = track.message(4).text(5);
      threads_[track.message(4).number(2)] = track.message(4).text(5);
    }
    if (track.has(2)) names_[track.number(1)] = track.text(2);  // of counters and spans
  }

  void event(std::uint64_t time, const Message& event) {
    const std::uint64_t track = event.number(11);
    ASSERT_TRUE(tracks_.contains(track));
    for (const std::uint64_t flow : event.numbers(47)) flows_begun.insert(flow);
    for (const std::uint64_t flow : event.numbers(48)) flows_ended.insert(flow);
    switch (event.number(9)) {
      case 1: {
        std::string what;
        for (const Message& note : event.messages(4)) what += note.text(10) + " " + note.text(6) + "; ";
        open_[track].push_back(
            {names_.at(track), events_.at(event.number(10)), what, time, 0, stack(event.number(56))});
        break;
      }
      case 2:
        ASSERT_FALSE(open_[track].empty());
        slices.push_back(open_[track].back());
        slices.back().end = time;
        open_[track].pop_back();
        break;
      case 3:
        wakes.push_back(names_.at(track) + " " + event.messages(4).at(0).text(6));
        break;
      default:
        counters[names_.at(track)].emplace_back(time, std::bit_cast<double>(event.number(44)));
    }
  }

  bool first_ = true;
  std::map<std::uint64_t, std::string> events_, functions_, paths_, files_, frames_, names_, threads_;
  std::map<std::uint64_t, std::vector<std::string>> stacks_;
  std::map<std::uint64_t, std::vector<Slice>> open_;
  std::set<std::uint64_t> mappings_, tracks_;
};

Trace trace_of(const model::Profile& profile, const PerfettoOptions& options = {}) {
  return Trace(write_perfetto(profile, options).value());
}

TEST(PerfettoWriter, SamplesHaveThreadTimeAndStack) {
  const model::Profile profile = analysis::small_server();
  const Trace trace = trace_of(profile);
  ASSERT_EQ(trace.samples.size(), 900U);
  EXPECT_EQ(trace.samples[0].first, "server");
  EXPECT_THAT(trace.samples[0].second, ElementsAre("__libc_start_main", "main", "server::request::parse",
                                                   "alloc::vec::Vec<server::request::Header>::push"));
  EXPECT_EQ(trace.sample_times[0], profile.samples[0].time_ns);
  EXPECT_EQ(trace.samples[899].first, "worker-1");
}

TEST(PerfettoWriter, CountersAreLevelsAtTheirTimes) {
  analysis::HandMadeHeap hand;
  const auto app = hand.module("app");
  const auto process = hand.process(10, "app");
  hand.thread(process, 10, "app");
  const auto site = hand.site(hand.stack({hand.frame(app, {"main"})}));
  hand.slice();
  hand.row(site, {1, 4096});
  hand.slice();
  hand.row(site, {2, 100}, {1, 4096});
  model::Series memory;
  memory.name = hand.builder.string("memory.rss");
  memory.unit = hand.builder.string("bytes");
  memory.pid = 10;
  memory.points = {{2'000'000'000, 0}, {3'000'000'000, 1.5e9}};
  hand.profile.series.push_back(memory);
  const Trace trace = trace_of(hand.profile);
  EXPECT_THAT(trace.counters.at("live heap"),
              ElementsAre(std::pair(2'000'000'000UL, 4096.0), std::pair(3'000'000'000UL, 100.0)));
  EXPECT_THAT(trace.counters.at("memory.rss"),
              ElementsAre(std::pair(2'000'000'000UL, 0.0), std::pair(3'000'000'000UL, 1.5e9)));
}

TEST(PerfettoWriter, WaitsAreSlicesWithTheirReasonAndAnArrowFromWhoEndedThem) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto process = hand.process(10, "app");
  const auto waiter = hand.thread(process, 10, "waiter"), waker = hand.thread(process, 11, "waker");
  const auto stack = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"lock"})});
  model::Wait& wait =
      hand.wait(waiter, stack, "futex", 1, 20, 5, hand.object(model::ObjectKind::kFutex, "", 64));
  wait.waker = waker;
  wait.weight = 3;
  const Trace trace = trace_of(hand.profile);
  ASSERT_EQ(trace.slices.size(), 2U);
  const Trace::Slice& slice = trace.slices[0];
  EXPECT_EQ(slice.thread, "waiter");
  EXPECT_EQ(slice.name, "[wait: futex]");
  EXPECT_EQ(slice.start, 2'000'000'000U);
  EXPECT_EQ(slice.end, 2'020'000'000U);
  EXPECT_THAT(slice.stack, ElementsAre("main", "lock"));
  EXPECT_THAT(slice.what, HasSubstr("ended by waker 11; stands for 3 waits of this thread"));
  EXPECT_EQ(trace.slices[1].name, "[run queue]");
  EXPECT_EQ(trace.slices[1].start, 2'020'000'000U);
  EXPECT_EQ(trace.slices[1].end, 2'025'000'000U);
  EXPECT_THAT(trace.wakes, ElementsAre("waker waiter 10"));
  EXPECT_EQ(trace.flows_begun, trace.flows_ended);
  EXPECT_EQ(trace.flows_begun.size(), 1U);
}

TEST(PerfettoWriter, SpansAreNestedSlicesAndWhatOverlapsHasAnotherTrack) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"main"})}), 1);
  const std::uint64_t start = hand.profile.meta.start_ns;
  const auto span = [&](const char* name, std::uint64_t from, std::uint64_t to, model::ThreadId of) {
    hand.profile.spans.push_back(
        {start + from, start + to, hand.builder.string(name), of, model::SpanSource::kMarkerFile, 0, 0});
  };
  span("inner", 20, 30, thread);
  span("outer", 10, 50, thread);
  span("across", 40, 60, thread);
  span("of no thread", 5, 15, model::kNoThread);
  const Trace trace = trace_of(hand.profile);
  std::vector<std::string> slices;
  for (const Trace::Slice& slice : trace.slices)
    slices.push_back(slice.name + " " + std::to_string(slice.start - start) + "-" +
                     std::to_string(slice.end - start));
  EXPECT_THAT(slices, testing::UnorderedElementsAre("inner 20-30", "outer 10-50", "across 40-60",
                                                    "of no thread 5-15"));
}

TEST(PerfettoWriter, MarksArePhasesEachUpToTheNextOne) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "p"), 1, "t");
  hand.sample(thread, hand.stack({hand.frame(hand.module("p"), {"f"})}), 1);
  hand.profile.meta.start_ns = 100;
  hand.profile.meta.end_ns = 100 + 5'000'000'000;
  hand.profile.meta.facts[model::kMarksFact] =
      model::mark_line(1, "warm up") + "\n" + model::mark_line(3, "load");
  const Trace trace = trace_of(hand.profile);
  ASSERT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(trace.slices[0].name, "warm up");
  EXPECT_EQ(trace.slices[0].start, 100 + 1'000'000'000U);
  EXPECT_EQ(trace.slices[0].end, 100 + 3'000'000'000U);
  EXPECT_EQ(trace.slices[1].name, "load");
  EXPECT_EQ(trace.slices[1].end, hand.profile.meta.end_ns);
}

TEST(PerfettoWriter, AWindowCutsWhatCrossesItsEdges) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.wait(thread, stack, "futex", 1, 1000);
  hand.wait(thread, stack, "futex", 3, 5000);
  PerfettoOptions options;
  options.selection.from_ns = 1'500'000'000;
  options.selection.to_ns = 4'000'000'000;
  const Trace trace = trace_of(hand.profile, options);
  ASSERT_EQ(trace.slices.size(), 2U);
  EXPECT_EQ(trace.slices[0].start, 2'500'000'000U);
  EXPECT_EQ(trace.slices[0].end, 3'000'000'000U);
  EXPECT_EQ(trace.slices[1].start, 4'000'000'000U);
  EXPECT_EQ(trace.slices[1].end, 5'000'000'000U);
}

TEST(PerfettoWriter, WhatIsWrittenOfAnyProfileIsSoundAndHasEverySample) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    const Result<std::string> bytes = write_perfetto(profile, {});
    if (!bytes) return;
    const analysis::Filter filter(profile, {});
    std::size_t samples = 0;
    for (const model::Sample& row : profile.samples) samples += filter.takes(row) ? 1 : 0;
    const Trace trace(*bytes);
    EXPECT_EQ(trace.samples.size(), samples);
    EXPECT_EQ(trace.flows_begun, trace.flows_ended);
    for (const Trace::Slice& slice : trace.slices) EXPECT_LE(slice.start, slice.end);
  });
}

}  // namespace
}  // namespace fathom::present
