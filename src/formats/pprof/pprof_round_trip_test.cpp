// What present/exports writes for pprof, as this folder reads it, and as other readers need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <set>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/words.h"
#include "formats/import/import_testing.h"
#include "formats/pprof/message.h"
#include "formats/pprof/pprof.h"
#include "model/random_profile.h"
#include "present/exports/folded_writer.h"
#include "present/exports/pprof_writer.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;

analysis::Selection of(Metric metric) {
  analysis::Selection selection;
  selection.metric = metric;
  return selection;
}

// A message is made of views, so the bytes are kept.
PprofMessage message_of(std::string bytes) {
  static std::deque<std::string> kept;
  return read_pprof_message(kept.emplace_back(std::move(bytes)), "x").value();
}

std::vector<std::string> types_of(const PprofMessage& message) {
  std::vector<std::string> all;
  for (const auto& [type, unit] : message.types) all.push_back(fmt::format("{}/{}", type, unit));
  return all;
}

std::vector<std::int64_t> sums_of(const PprofMessage& message) {
  std::vector<std::int64_t> sums(message.types.size());
  PprofMessage::Sample sample;
  for (const std::string_view bytes : message.samples) {
    EXPECT_TRUE(message.sample_of(bytes, sample));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += sample.values.at(i);
  }
  return sums;
}

// Ids from 1 without a hole, none that is not there, no text that is no text.
void expect_sound(const PprofMessage& message) {
  ASSERT_FALSE(message.strings.empty());
  EXPECT_EQ(message.strings[0], "");
  std::set<std::string_view> texts;
  for (const std::string_view text : message.strings) {
    EXPECT_EQ(analysis::printable(text), text);
    EXPECT_TRUE(texts.insert(text).second) << text << " twice";
  }
  for (std::uint64_t id = 1; id <= message.mappings.size(); ++id)
    EXPECT_TRUE(message.mapping_rows.contains(id));
  for (std::uint64_t id = 1; id <= message.locations.size(); ++id)
    EXPECT_TRUE(message.locations.contains(id));
  for (std::uint64_t id = 1; id <= message.functions.size(); ++id)
    EXPECT_TRUE(message.functions.contains(id));
  for (const auto& [id, location] : message.locations) {
    EXPECT_LE(location.mapping_id, message.mappings.size());
    for (const auto& line : location.lines) EXPECT_TRUE(message.functions.contains(line.function_id));
  }
  PprofMessage::Sample sample;
  std::set<std::string_view> rows;
  for (const std::string_view bytes : message.samples) {
    EXPECT_TRUE(message.sample_of(bytes, sample));
    EXPECT_EQ(sample.values.size(), message.types.size());
    for (const std::uint64_t id : sample.location_ids) EXPECT_TRUE(message.locations.contains(id));
    EXPECT_TRUE(rows.insert(bytes).second) << "two samples of one stack";
  }
  EXPECT_NE(message.default_type, "");
  // What servers refuse or could not read.
  EXPECT_NE(message.period_type.type, "");
  for (const auto& type : message.types) EXPECT_EQ(type.type.find('-'), std::string_view::npos) << type.type;
}

analysis::CallTree tree_of(const model::Profile& profile, Metric metric) {
  return analysis::build_call_tree(profile, {.selection = of(metric)});
}

// Self values by the name of the leaf, as far as a text of one line can say it.
std::map<std::string, std::int64_t> by_leaf(const analysis::CallTree& tree) {
  std::map<std::string, std::int64_t> sums;
  for (const analysis::TreeNode& node : tree.nodes)
    if (node.self != 0 && node.kind != analysis::NodeKind::kThread && node.kind != analysis::NodeKind::kRoot)
      sums[analysis::printable(tree.name(node))] += node.self;
  return sums;
}

TEST(PprofRoundTrip, EverySumOfEveryMetricIsKept) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    for (const Metric metric : analysis::metrics_in(profile)) {
      SCOPED_TRACE(model::to_string(metric));
      const analysis::CallTree tree = tree_of(profile, metric);
      const auto written = present::write_pprof(profile, {.selection = of(metric), .comments = {}});
      if (!written) {
        EXPECT_EQ(tree.total, 0);
        continue;
      }
      const PprofMessage message = message_of(*written);
      expect_sound(message);
      if (metric != Metric::kCpu && metric != Metric::kOffCpu && metric != Metric::kWall) continue;
      const auto read = read_pprof(*written, "x");
      ASSERT_TRUE(read) << read.error().message;
      // The whole time in 64 bits is that of a broken recording; there samples and time cannot both be right.
      if (tree.total > std::int64_t{1} << 42 && metric == Metric::kCpu) continue;
      EXPECT_EQ(tree_of(*read, metric).total, tree.total);
      EXPECT_EQ(by_leaf(tree_of(*read, metric)), by_leaf(tree));
      EXPECT_EQ(analysis::unit_of(*read, metric), tree.unit);
    }
  });
}

TEST(PprofRoundTrip, PartsAreWholeProfilesThatAddUp) {
  std::size_t most = 0;
  model::for_each_profile(40, [&](const model::Profile& profile) {
    for (const Metric metric : analysis::metrics_in(profile)) {
      SCOPED_TRACE(model::to_string(metric));
      const present::PprofOptions options{.selection = of(metric), .comments = {}};
      const auto whole = present::write_pprof(profile, options);
      const auto parts = present::write_pprof_parts(profile, options, {.most_samples = 7});
      ASSERT_EQ(whole.has_value(), parts.has_value());
      if (!whole) continue;
      std::vector<std::int64_t> sums(types_of(message_of(*whole)).size());
      std::size_t samples = 0;
      for (const std::string& part : *parts) {
        const PprofMessage message = message_of(part);
        expect_sound(message);
        EXPECT_LE(message.samples.size(), 7U);
        EXPECT_EQ(types_of(message), types_of(message_of(*whole)));
        const std::vector<std::int64_t> of_part = sums_of(message);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_part[i];
        samples += message.samples.size();
      }
      EXPECT_EQ(sums, sums_of(message_of(*whole)));
      EXPECT_EQ(samples, message_of(*whole).samples.size());
      most = std::max(most, parts->size());
    }
  });
  EXPECT_GT(most, 3U);
}

// Names are most of what a profile holds: a part ends before it is too large, however few samples it has.
TEST(PprofRoundTrip, PartsEndBeforeTheyAreTooLarge) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  for (int i = 0; i < 400; ++i)
    hand.sample(thread,
                hand.stack({hand.frame(hand.module("app"), {std::string(1000, 'x') + std::to_string(i)})}),
                1);
  const auto parts = present::write_pprof_parts(hand.profile, {.comments = {}}, {.most_bytes = 100'000});
  ASSERT_TRUE(parts);
  EXPECT_GE(parts->size(), 4U);
  for (const std::string& part : *parts) EXPECT_LE(part.size(), 100'000U);
}

TEST(PprofRoundTrip, TheHeapIsKeptToTheByte) {
  model::for_each_profile(60, [](const model::Profile& profile) {
    if (profile.heap.empty()) return;
    for (const Metric asked : {Metric::kHeapAllocated, Metric::kHeapLive}) {
      const auto written = present::write_pprof(profile, {.selection = of(asked), .comments = {}});
      if (!written) continue;
      const PprofMessage message = message_of(*written);
      const std::vector<std::int64_t> sums = sums_of(message);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::string_view type = message.types[i].type;
        EXPECT_EQ(type.starts_with("alloc"), asked == Metric::kHeapAllocated) << type;
        const bool in_blocks = type.ends_with("_objects");
        for (const auto& [name, metric] :
             {std::pair("alloc", Metric::kHeapAllocated), std::pair("inuse", Metric::kHeapLive),
              std::pair("peak", Metric::kHeapPeak)}) {
          if (!type.starts_with(name)) continue;
          analysis::Selection selection = of(metric);
          if (in_blocks && metric == Metric::kHeapAllocated) selection.metric = Metric::kHeapAllocations;
          if (in_blocks) selection.heap_unit = analysis::HeapUnit::kBlocks;
          const std::int64_t total = analysis::build_call_tree(profile, {.selection = selection}).total;
          // Estimates are doubles: beyond 2^53 they have no single bytes.
          EXPECT_LE(std::abs(sums[i] - total), std::abs(total) >> 53)
              << type << ": " << sums[i] << ", " << total;
        }
      }
    }
  });
}

TEST(PprofRoundTrip, NamesAreThoseThatBackendsKnow) {
  const model::Profile server = analysis::small_server();
  const PprofMessage cpu = message_of(present::write_pprof(server, {.comments = {}}).value());
  EXPECT_THAT(types_of(cpu), ElementsAre("samples/count", "cpu/nanoseconds"));
  EXPECT_EQ(cpu.period_type.type, "cpu");
  EXPECT_EQ(cpu.period, 10'000'000);
  EXPECT_EQ(cpu.default_type, "cpu");
  EXPECT_EQ(cpu.duration_ns, 10'000'000'000);
  EXPECT_THAT(sums_of(cpu), ElementsAre(900, 9'000'000'000));

  model::Profile waiting = server;
  waiting.waits.push_back(wait_of(2'000'000'000, 700, 30));
  const PprofMessage waits =
      message_of(present::write_pprof(waiting, {.selection = of(Metric::kOffCpu), .comments = {}}).value());
  EXPECT_THAT(types_of(waits), ElementsAre("off_cpu/nanoseconds"));
  EXPECT_EQ(waits.period, 0);
  EXPECT_THAT(sums_of(waits), ElementsAre(730));
  const PprofMessage wall =
      message_of(present::write_pprof(waiting, {.selection = of(Metric::kWall), .comments = {}}).value());
  EXPECT_THAT(types_of(wall), ElementsAre("wall/nanoseconds"));
  EXPECT_EQ(wall.period_type.type, "wall");
  EXPECT_THAT(sums_of(wall), ElementsAre(9'000'000'730));
}

TEST(PprofRoundTrip, SumsOverTimeAndAmountsOfAMomentAreFilesOfTheirOwn) {
  model::Profile profile = analysis::small_server();
  profile.heap.heaps.push_back({.process = {0}, .mode = model::HeapMode::kSampled, .mean_bytes = 524288});
  profile.heap.slices.push_back({{0}, 1'000'000'000, 11'000'000'000, 5'000'000'000, 900, 400, 4});
  profile.heap.sites.push_back({{0}, {3}, {0}, {1}, 1});
  profile.heap.rows.push_back({{0}, {0}, {9, 900}, {5, 500}, {}, {}, {}, {}, 0});
  profile.heap.summaries.push_back({{0}, {7, 700}, {}, 0});
  profile.heap.heaps[0].peak_ns = 5'000'000'000;
  profile.heap.heaps[0].peak_bytes = 700;
  const auto write = [&](Metric metric) {
    return message_of(
        present::write_pprof(profile, {.selection = of(metric), .comments = {"sampled"}}).value());
  };
  const PprofMessage live = write(Metric::kHeapLive);
  EXPECT_THAT(types_of(live), ElementsAre("inuse_objects/count", "inuse_space/bytes", "peak_objects/count",
                                          "peak_space/bytes"));
  EXPECT_THAT(sums_of(live), ElementsAre(4, 400, 7, 700));
  EXPECT_EQ(live.period_type.type, "space");
  EXPECT_EQ(live.period, 524288);
  EXPECT_EQ(live.default_type, "inuse_space");
  EXPECT_EQ(live.duration_ns, 0) << "a moment has no duration";
  EXPECT_THAT(live.comments, ElementsAre("sampled"));
  EXPECT_THAT(types_of(write(Metric::kHeapAllocated)),
              ElementsAre("alloc_objects/count", "alloc_space/bytes"));
  EXPECT_EQ(write(Metric::kHeapAllocated).default_type, "alloc_space");
  EXPECT_EQ(write(Metric::kHeapAllocated).duration_ns, 10'000'000'000);
  EXPECT_EQ(write(Metric::kHeapAllocations).default_type, "alloc_objects");
  EXPECT_EQ(write(Metric::kHeapPeak).default_type, "peak_space");
  EXPECT_THAT(types_of(write(Metric::kHeapLeaked)),
              ElementsAre("leaked_objects/count", "leaked_space/bytes"));
}

// Each label becomes a series there: a server with a thousand threads would have a thousand.
TEST(PprofRoundTrip, ForServersThereAreNoLabelsAndEveryStackIsThereOnce) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    for (const Metric metric : analysis::metrics_in(profile)) {
      present::PprofOptions options{.selection = of(metric), .comments = {}};
      const auto labelled = present::write_pprof(profile, options);
      options.for_server = true;
      const auto plain = present::write_pprof(profile, options);
      ASSERT_EQ(labelled.has_value(), plain.has_value());
      if (!plain) continue;
      const PprofMessage message = message_of(*plain);
      EXPECT_EQ(sums_of(message), sums_of(message_of(*labelled)));
      PprofMessage::Sample sample;
      std::set<std::vector<std::uint64_t>> stacks;
      for (const std::string_view bytes : message.samples) {
        ASSERT_TRUE(message.sample_of(bytes, sample));
        EXPECT_TRUE(sample.labels.empty());
        if (!model::is_heap(metric)) {
          EXPECT_TRUE(stacks.insert({sample.location_ids.begin(), sample.location_ids.end()}).second);
        }
      }
    }
  });
}

TEST(PprofRoundTrip, PlacesKeepTheirFilesLinesAndInlinedCalls) {
  analysis::HandMade hand;
  const auto app = hand.module("kettle", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto stripped = hand.module("libheat.so", model::ModuleKind::kFile, model::SymbolSource::kNone);
  hand.profile.modules[app.value].build_id = hand.builder.string("ab12");
  hand.profile.modules[stripped.value].build_id = hand.builder.string("x-77");
  const auto process = hand.process(10, "kettle");
  hand.profile.processes[0].executable = hand.builder.string("/usr/bin/kettle");
  const auto thread = hand.thread(process, 12, "boiler");
  const auto inner = hand.builder.frame_with_lines(app, ElfAddress{0x1200},
                                                   {{"boil", "heat.h", 7}, {"run", "kettle.c", 30}});
  hand.sample(thread, hand.stack({inner, hand.unnamed(stripped, 0x1f40)}), 2);
  hand.sample(thread, hand.stack({inner}), 1);
  const std::string bytes = present::write_pprof(hand.profile, {.comments = {}}).value();
  const PprofMessage message = message_of(bytes);
  ASSERT_EQ(message.mappings.size(), 2u);
  EXPECT_EQ(message.mappings[0].path, "/usr/bin/kettle") << "the program's own comes first";
  EXPECT_EQ(message.mappings[0].build_id, "ab12");
  EXPECT_TRUE(message.mappings[0].has_functions && message.mappings[0].has_lines);
  EXPECT_EQ(message.mappings[1].build_id, "") << "a hash of the content is no build id";
  EXPECT_FALSE(message.mappings[1].has_functions) << "its names are still to be found";
  const model::Profile read = read_pprof(bytes, "x").value();
  EXPECT_THAT(stacks_of(read), ElementsAre("boiler;run;boil 1", "boiler;run;boil;[libheat.so+0x1f40] 2"));
  EXPECT_EQ(read.threads[0].tid, 12);
  std::set<std::string> lines;
  for (const model::Line& line : read.lines)
    if (line.line != 0) lines.insert(fmt::format("{}:{}", read.strings[line.file], line.line));
  EXPECT_THAT(lines, ElementsAre("heat.h:7", "kettle.c:30"));
}

TEST(PprofRoundTrip, ARateThatIsNoWholePeriodIsReadBack) {
  for (const std::uint32_t rate : {1u, 3u, 49u, 99u, 997u, 999u, 4999u, 20000u}) {
    model::Profile profile = analysis::small_server();
    profile.meta.frequency_hz = rate;
    const model::Profile read =
        read_pprof(present::write_pprof(profile, {.comments = {}}).value(), "x").value();
    EXPECT_EQ(read.meta.frequency_hz, rate);
    EXPECT_EQ(total_of(read, Metric::kCpu), 900);
  }
}

TEST(PprofRoundTrip, NothingIsNoFile) {
  const auto nothing =
      present::write_pprof(analysis::small_server(), {.selection = of(Metric::kOffCpu), .comments = {}});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::formats
