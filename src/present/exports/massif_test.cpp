#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/heap/hand_made_heap.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "present/exports/massif_writer.h"

namespace fathom::present {
namespace {

using analysis::HandMadeHeap;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Read {
  struct Snapshot {
    std::uint64_t number, time, bytes;
    std::string tree;  // "empty", "detailed", "peak"
  };
  std::string unit;
  std::vector<Snapshot> snapshots;
};

// Reads it as strictly as ms_print does: keys in their order, a node for each child that is announced, and no
// child larger than its parent.
class Reader {
 public:
  explicit Reader(const std::string& text) : in_(text) {}
  Read read() {
    Read all;
    EXPECT_EQ(value("desc: ").substr(0, 1), "(");
    value("cmd: ");
    all.unit = value("time_unit: ");
    while (next()) {
      Read::Snapshot snapshot;
      snapshot.number = std::stoull(value("snapshot="));
      snapshot.time = std::stoull(value("time="));
      snapshot.bytes = std::stoull(value("mem_heap_B="));
      EXPECT_EQ(value("mem_heap_extra_B="), "0");
      EXPECT_EQ(value("mem_stacks_B="), "0");
      snapshot.tree = value("heap_tree=");
      const std::uint64_t of_tree = snapshot.tree == "empty" ? snapshot.bytes : node(0, UINT64_MAX);
      EXPECT_EQ(of_tree, snapshot.bytes);
      all.snapshots.push_back(snapshot);
      if (testing::Test::HasFailure()) break;
    }
    return all;
  }

 private:
  bool next() {
    if (has_line_) return true;
    while (std::getline(in_, line_)) {
      line_ = line_.substr(0, line_.find('#'));
      if (line_.find_first_not_of(' ') != std::string::npos) return has_line_ = true;
    }
    return false;
  }
  std::string value(const std::string& key) {
    EXPECT_TRUE(next()) << key;
    EXPECT_TRUE(line_.starts_with(key)) << line_;
    has_line_ = false;
    return line_.substr(std::min(line_.size(), key.size()));
  }
  std::uint64_t node(std::size_t depth, std::uint64_t parent) {
    EXPECT_TRUE(next());
    EXPECT_EQ(line_.find_first_not_of(' '), depth) << line_;
    std::istringstream fields(line_);
    char n = 0, colon = 0;
    std::uint64_t children = 0, bytes = 0;
    fields >> n >> children >> colon >> bytes;
    EXPECT_EQ(n, 'n') << line_;
    EXPECT_EQ(colon, ':') << line_;
    EXPECT_LE(bytes, parent) << line_;
    has_line_ = false;
    std::uint64_t of_children = 0;
    for (std::uint64_t i = 0; i < children && !testing::Test::HasFailure(); ++i)
      of_children += node(depth + 1, bytes);
    EXPECT_LE(of_children, bytes);
    return bytes;
  }

  std::istringstream in_;
  std::string line_;
  bool has_line_ = false;
};

std::string massif_of(const model::Profile& profile, const analysis::Selection& selection = {},
                      const MassifOptions& options = {}) {
  const auto file = make_massif(profile, selection, options);
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return file ? massif_text(*file) : "";
}

TEST(Massif, OfAServerLooksAsItDid) {
  HandMadeHeap hand = analysis::small_heap();
  hand.profile.meta.facts["command"] = "./server --port 7";
  expect_golden("server.massif.out", massif_of(hand.profile));
  expect_golden("server.ms_print", ms_print_text(make_massif(hand.profile, {}).value()));
}

// As with valgrind's --time-unit=B: a program that allocates in bursts has its bursts drawn out.
TEST(Massif, TheAxisCountsBytesWhereThatIsAsked) {
  const MassifOptions options{.unit = MassifUnit::kBytes};
  const Read read = Reader(massif_of(analysis::small_heap().profile, {}, options)).read();
  EXPECT_EQ(read.unit, "B");
  std::vector<std::uint64_t> times;
  for (const Read::Snapshot& snapshot : read.snapshots) times.push_back(snapshot.time);
  EXPECT_THAT(times, testing::ElementsAre(0u, 10'999'640u, 18'999'960u, 27'000'280u, 29'202'560u));
  const std::string text = ms_print_text(make_massif(analysis::small_heap().profile, {}, options).value());
  EXPECT_THAT(text, HasSubstr("time(B)"));
  EXPECT_THAT(text, HasSubstr(">MB\n")) << "the unit of the axis";
}

TEST(Massif, HasThePeakOfAllEventsWithItsTree) {
  const Read read = Reader(massif_of(analysis::small_heap().profile)).read();
  EXPECT_EQ(read.unit, "ms");
  ASSERT_EQ(read.snapshots.size(), 5u);
  EXPECT_EQ(read.snapshots[0].bytes, 0u);
  EXPECT_EQ(read.snapshots[2].time, 1500u);
  EXPECT_EQ(read.snapshots[2].bytes, 7'001'960u);
  EXPECT_EQ(read.snapshots[2].tree, "peak");
  EXPECT_EQ(read.snapshots[4].bytes, 1'002'560u);
  EXPECT_EQ(read.snapshots[4].tree, "detailed");
}

TEST(Massif, MarksTheFullestSliceOfAKilledRecordingAsThePeak) {
  model::Profile profile = analysis::small_heap().profile;
  profile.heap.summaries.clear();
  const Read read = Reader(massif_of(profile)).read();
  EXPECT_EQ(std::count_if(read.snapshots.begin(), read.snapshots.end(),
                          [](const auto& snapshot) { return snapshot.tree == "peak"; }),
            1);
  EXPECT_EQ(read.snapshots.back().tree, "peak");
}

TEST(Massif, OfAWindowBeginsWithWhatWasLiveThen) {
  const Read read =
      Reader(massif_of(analysis::small_heap().profile, {.from_ns = 2 * kSecond, .to_ns = 3 * kSecond}))
          .read();
  ASSERT_EQ(read.snapshots.size(), 2u);
  EXPECT_EQ(read.snapshots[0].bytes, 1'002'280u);
  EXPECT_EQ(read.snapshots[1].tree, "peak");
}

TEST(Massif, HasAtMostAHundredSnapshotsAndATreeInOneOfTen) {
  HandMadeHeap hand;
  hand.process(10, "app");
  const auto app = hand.module("app");
  const auto site = hand.site(hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"f"})}));
  std::uint64_t most = 0;
  for (int i = 0; i < 5000; ++i) {
    hand.slice();
    hand.row(site, {1, 100.0 + i % 37}, i % 3 == 0 ? model::HeapSum{1, 100} : model::HeapSum{});
    auto& slice = hand.profile.heap.slices.back();
    if (i % 11 == 0) {
      slice.peak_ns = slice.start_ns + 1000;
      slice.peak_bytes = slice.live_bytes + 5000;
    }
    most = std::max(most, static_cast<std::uint64_t>(slice.peak_bytes));
  }
  const Read read = Reader(massif_of(hand.profile)).read();
  EXPECT_LE(read.snapshots.size(), 100u);
  EXPECT_GE(read.snapshots.size(), 60u);
  std::uint64_t kept = 0, last = 0, trees = 0;
  for (std::size_t i = 0; i < read.snapshots.size(); ++i) {
    EXPECT_EQ(read.snapshots[i].number, i);
    EXPECT_GE(read.snapshots[i].time, last);
    last = read.snapshots[i].time;
    kept = std::max(kept, read.snapshots[i].bytes);
    trees += read.snapshots[i].tree == "empty" ? 0 : 1;
  }
  EXPECT_EQ(kept, most);
  EXPECT_GE(trees, 5u);
  EXPECT_LE(trees, 12u);
}

TEST(Massif, TakesSmallPlacesTogetherAndNamesWhatItCan) {
  HandMadeHeap hand;
  hand.process(10, "app");
  const auto app = hand.module("app");
  const auto main = hand.frame(app, {"main"});
  for (int i = 0; i < 5; ++i) hand.site(hand.stack({main, hand.frame(app, {"f" + std::to_string(i)})}));
  hand.site(hand.stack({main, hand.frame(app, {"run::{closure#0}"})}));
  hand.site({0});
  hand.slice();
  for (std::uint32_t i = 0; i < 5; ++i) hand.row({i}, {1, i == 0 ? 10'000.0 : 10.0});
  hand.row({5}, {1, 5000});
  hand.row({6}, {1, 4000});
  const std::string text = massif_of(hand.profile);
  Reader(text).read();
  EXPECT_THAT(text, HasSubstr("n0: 40 in 4 places, all below massif's threshold (1.00%)\n"));
  EXPECT_THAT(text, HasSubstr("run::{closure:0}"));
  EXPECT_THAT(text, HasSubstr("n0: 4000 0x0: ???\n"));
}

TEST(Massif, WithoutAHeapOrWithSeveralProcessesSaysWhatToDo) {
  const auto none = make_massif(analysis::small_heap().profile, {.pid = 77});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);

  HandMadeHeap hand = analysis::small_heap();
  auto& heap = hand.profile.heap;
  heap.heaps.push_back(heap.heaps[0]);
  heap.heaps[1].process = hand.process(20, "other");
  heap.sites.push_back({{1}, {1}, {0}, model::kNoThread, 1});
  model::HeapSlice slice = heap.slices[0];
  slice.heap = {1};
  heap.slices.push_back(slice);
  model::HeapRow row;
  row.slice = {3};
  row.site = {4};
  row.allocated = {1, 64};
  heap.rows.push_back(row);
  ASSERT_TRUE(model::check(hand.profile));
  const auto several = make_massif(hand.profile, {});
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().remedy, "--pid with one of 10, 20");
  EXPECT_EQ(Reader(massif_of(hand.profile, {.pid = 20})).read().snapshots.back().bytes, 64u);
}

TEST(Massif, OfAnyProfileIsReadable) {
  std::size_t seen = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const model::Profile profile = model::random_profile(seed);
    for (const model::Process& process : profile.processes) {
      const auto file = make_massif(profile, {.pid = process.pid});
      if (!file) continue;
      ++seen;
      Reader(massif_text(*file)).read();
      EXPECT_FALSE(ms_print_text(*file).empty());
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(seen, 50u);
}

}  // namespace
}  // namespace fathom::present
