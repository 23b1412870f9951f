#include "tools/clickhouse/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap.h"
#include "analysis/core/wait_cause.h"
#include "analysis/heap/hand_made_heap.h"
#include "analysis/waits/hand_made_waits.h"
#include "model/heap_ends.h"
#include "model/random_profile.h"
#include "tools/clickhouse/profile_of.h"
#include "tools/clickhouse/row_binary.h"
#include "tools/clickhouse/schema.h"

namespace fathom::clickhouse {
namespace {

using model::Metric;
using model::Profile;

constexpr Metric kSummable[] = {Metric::kCpu, Metric::kOffCpu, Metric::kHeapAllocated,
                                Metric::kHeapAllocations};

std::int64_t total_of(const Profile& profile, Metric metric) {
  analysis::Selection selection;
  selection.metric = metric;
  analysis::TreeOptions options;
  options.selection = selection;
  return analysis::build_call_tree(profile, options).total;
}

std::map<std::string, std::int64_t> sums_of(const Rows& rows) {
  std::map<std::string, std::int64_t> sums;
  for (const WindowRows& window : rows.windows)
    for (const SampleRow& row : window.samples) sums[row.metric] += row.value;
  return sums;
}

// What a server does with the rows of several recordings.
class Engine {
 public:
  void add(const Rows& rows) {
    for (const StackRow& stack : rows.stacks) {
      if (!hashes_.insert(stack.hash).second) continue;
      stacks_.number(stack.hash);
      for (const auto text : {&FrameRow::function, &FrameRow::module, &FrameRow::source}) {
        stacks_.varint(stack.frames.size());
        for (const std::uint32_t frame : stack.frames) stacks_.text(rows.frames[frame].*text);
      }
      stacks_.varint(stack.frames.size());
      for (const std::uint32_t frame : stack.frames)
        stacks_.number(static_cast<std::uint8_t>(rows.frames[frame].kind |
                                                 (rows.frames[frame].inlined ? kInlinedBit : 0)));
      const WaitKind kind = stack.wait.value_or(WaitKind{});
      stacks_.text(kind.cause).text(kind.waker).number(kind.waker_stack);
      stacks_.text(stack.wait ? facts_text(kind) : "");
    }
    for (const WindowRows& window : rows.windows)
      for (const SampleRow& row : window.samples)
        sums_[{row.metric, row.thread, row.period_ns, row.stack}] += row.value;
  }
  std::string stacks() const { return stacks_.bytes(); }
  std::string sums() const {
    RowBinaryWriter out;
    for (const auto& [key, value] : sums_)
      out.text(std::get<0>(key))
          .text(std::get<1>(key))
          .number(std::get<2>(key))
          .number(std::get<3>(key))
          .number(value);
    return out.bytes();
  }

 private:
  RowBinaryWriter stacks_;
  std::set<std::uint64_t> hashes_;
  std::map<std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>, std::int64_t> sums_;
};

Origin somewhere() {
  return {"s", "http://h:8123/", "the table fathom_stacks", "ClickHouse"};
}

Rows rows_for(const Profile& profile, std::uint64_t window_ns = 60'000'000'000) {
  auto rows = rows_of(profile, {"s", "h", "v"}, window_ns);
  EXPECT_TRUE(rows) << rows.error().message;
  return std::move(*rows);
}

model::RandomOptions plain() {
  model::RandomOptions options;
  options.only_text = true;
  return options;
}

// Values near the limits of 64 bits cannot be added to anything.
void make_addable(Profile& profile) {
  for (model::Sample& sample : profile.samples) sample.value %= 1'000'000'000;
  for (model::Wait& wait : profile.waits) {
    wait.waited_ns %= 1'000'000'000;
    wait.queued_ns %= 1'000'000'000;
    wait.weight = wait.weight % 100 + 1;
  }
  for (std::uint64_t* count : {&profile.quality.samples, &profile.quality.lost_ring_full,
                               &profile.quality.lost_stack, &profile.quality.lost_disk})
    *count %= 1'000'000'000;
}

TEST(ClickHouseRows, WindowsAddUpToTheRecordingWhateverTheirLength) {
  model::for_each_profile(60, [](const Profile& random) {
    Profile profile = random;
    make_addable(profile);
    if (!rows_of(profile, {"s", "h", "v"})) return;  // counts something that has no time
    const auto whole = sums_of(rows_for(profile, UINT64_MAX / 4));
    const std::uint64_t length = profile.meta.end_ns - profile.meta.start_ns;
    for (const std::uint64_t parts : {2, 3, 7}) {
      const Rows cut = rows_for(profile, std::max<std::uint64_t>(1, length / parts));
      const auto sums = sums_of(cut);
      for (const char* metric : {"cpu", kQualitySamples, kQualityLost})
        EXPECT_EQ(sums.count(metric) ? sums.at(metric) : 0, whole.count(metric) ? whole.at(metric) : 0)
            << metric << " in " << parts;
    }
  });
}

TEST(ClickHouseRows, ComeBackAsAProfileWithTheSameTotals) {
  model::for_each_profile(60, [](const Profile& random) {
    Profile profile = random;
    make_addable(profile);
    const auto rows = rows_of(profile, {"s", "h", "v"});
    if (!rows) return;
    Engine engine;
    engine.add(*rows);
    const auto back = profile_of(somewhere(), {}, engine.stacks(), engine.sums());
    ASSERT_TRUE(back) << back.error().message;
    const auto sums = sums_of(*rows);
    for (const Metric metric : kSummable) {
      const std::string name(model::to_string(metric));
      EXPECT_EQ(total_of(*back, metric), sums.count(name) ? sums.at(name) : 0) << name;
    }
  });
}

// The live heap of several windows is that of the last one, and what was live at the start follows.
TEST(ClickHouseRows, TheHeapComesBackWithWhatWasLiveAndWhatGrew) {
  analysis::HandMadeHeap hand = analysis::small_heap(model::HeapMode::kSampled);
  hand.profile.heap.heaps[0].mean_bytes = 4096;
  hand.profile.meta.start_unix_ns = 1'764'000'000'000'000'000;
  // The first second is before the recording.
  hand.profile.meta.start_ns += 1'000'000'000;
  const analysis::HeapSums sums(hand.profile, {});
  ASSERT_GT(sums.total().before.bytes.value, 0);
  Rows rows = rows_for(hand.profile, 1'000'000'000);
  ASSERT_EQ(rows.windows.size(), 2u);
  // What a read takes: of levels those of the last window.
  std::erase_if(rows.windows[0].samples, [](const SampleRow& row) { return is_level(row.metric); });
  Engine engine;
  engine.add(rows);
  const auto back = profile_of(somewhere(), {}, engine.stacks(), engine.sums());
  ASSERT_TRUE(back) << back.error().message;
  const analysis::HeapSums read(*back, {});
  for (const auto amounts :
       {&analysis::HeapSiteSums::allocated, &analysis::HeapSiteSums::freed, &analysis::HeapSiteSums::before,
        &analysis::HeapSiteSums::live, &analysis::HeapSiteSums::growth}) {
    EXPECT_EQ((read.total().*amounts).bytes.value, (sums.total().*amounts).bytes.value);
    EXPECT_EQ((read.total().*amounts).blocks.value, (sums.total().*amounts).blocks.value);
  }
  EXPECT_GT(read.total().live.bytes.error(), 0) << "sampled";
  EXPECT_TRUE(back->meta.facts.contains(model::kHeapEndsFact)) << "its course is not in the rows";
  EXPECT_EQ(total_of(*back, Metric::kHeapLive), total_of(hand.profile, Metric::kHeapLive));
}

TEST(ClickHouseRows, AProcessThatEndedInTheTimeFreedItsMemory) {
  const std::string metrics[] = {"heap-allocated", "heap-allocations", kFreedBytes, kFreedBlocks};
  RowBinaryWriter sums;
  for (const std::string& metric : metrics)
    sums.text(metric)
        .text("t")
        .number(std::uint64_t{0})
        .number(std::uint64_t{0})
        .number(std::int64_t{metric.find("freed") != metric.npos ? 10
                             : metric == "heap-frees"            ? 1
                                                                 : 1000});
  const auto back = profile_of(somewhere(), {}, "", sums.bytes());
  ASSERT_TRUE(back) << back.error().message;
  const analysis::HeapSums read(*back, {});
  EXPECT_EQ(read.total().allocated.bytes.value, 1000);
  EXPECT_EQ(read.total().live.bytes.value, 0);
  EXPECT_EQ(read.total().freed.bytes.value, 1000);
}

// So the sentences about waiting are those of the recording.
TEST(ClickHouseRows, WaitsComeBackWithTheirCauseAndTheThreadThatEndedThem) {
  const Profile profile = analysis::waiting_server();
  Engine engine;
  engine.add(rows_for(profile));
  const auto back = profile_of(somewhere(), {}, engine.stacks(), engine.sums());
  ASSERT_TRUE(back) << back.error().message;
  using Key = std::tuple<std::string, std::string, std::string>;  // thread, cause, waker
  const auto waits_by = [](const Profile& of) {
    std::map<Key, std::pair<std::uint64_t, std::uint64_t>> all;  // ns, waits
    const analysis::WaitCauses causes(of);
    for (const model::Wait& wait : of.waits) {
      if (wait.waited_ns == 0) continue;
      const auto name = [&](model::ThreadId id) {
        return id == model::kNoThread ? std::string() : std::string(of.strings[of.threads[id.value].name]);
      };
      auto& [ns, count] =
          all[{name(wait.thread), std::string(analysis::to_string(causes.of(wait))), name(wait.waker)}];
      ns += wait.waited_ns * wait.weight;
      count += wait.weight;
    }
    return all;
  };
  EXPECT_EQ(waits_by(*back), waits_by(profile));
  EXPECT_EQ(total_of(*back, Metric::kOffCpu), total_of(profile, Metric::kOffCpu));
  EXPECT_TRUE(
      std::ranges::any_of(back->waits, [](const model::Wait& wait) { return wait.waker_stack.value != 0; }));
}

TEST(ClickHouseRows, FactsOfWaitsAreReadAsTheyWereWrittenAndOthersAreNone) {
  WaitKind kind;
  kind.state = model::WaitState::kUninterruptible;
  kind.system_call = 202;
  kind.object = model::ObjectKind::kFutex;
  kind.operation = 137;
  kind.timed_out = true;
  EXPECT_EQ(read_facts(facts_text(kind)), kind);
  const std::string text = facts_text(kind);
  for (std::size_t i = 0; i + 1 < text.size(); ++i) EXPECT_FALSE(read_facts(text.substr(0, i)));
  for (const char* wrong : {"9 1 1 1 1 1", "1 1 99 1 1 1", "1 -2 1 1 1 1", "1 1 1 1 1 1 1", "a"})
    EXPECT_FALSE(read_facts(wrong)) << wrong;
}

TEST(ClickHouseRows, TwoHostsAddUp) {
  model::for_each_profile(30, [](const Profile& random) {
    Profile one = random;
    make_addable(one);
    if (!rows_of(one, {"s", "a", "v"})) return;
    Engine engine;
    engine.add(rows_for(one));
    engine.add(rows_for(one));
    const auto back = profile_of(somewhere(), {}, engine.stacks(), engine.sums());
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(total_of(*back, Metric::kCpu), 2 * sums_of(rows_for(one))["cpu"]);
  });
}

TEST(ClickHouseRows, TheSameRecordingHasTheSameIdsAndAnotherHasOthers) {
  Profile profile = model::random_profile(1, plain());
  const Rows first = rows_for(profile), again = rows_for(profile);
  ASSERT_EQ(first.windows.size(), again.windows.size());
  for (std::size_t i = 0; i < first.windows.size(); ++i) EXPECT_EQ(first.windows[i].id, again.windows[i].id);
  std::set<std::uint64_t> ids{first.windows[0].id};
  ids.insert(rows_of(profile, {"other", "h", "v"}).value().windows[0].id);
  ids.insert(rows_of(profile, {"s", "other", "v"}).value().windows[0].id);
  ids.insert(rows_of(profile, {"s", "h", "other"}).value().windows[0].id);
  profile.meta.start_unix_ns += 1;
  ids.insert(rows_for(profile).windows[0].id);
  EXPECT_EQ(ids.size(), 5U);
}

TEST(ClickHouseRows, GapsAreWhatIsNotCovered) {
  constexpr std::uint64_t kS = 1'000'000'000;
  const TimeSpan whole{10 * kS, 70 * kS};
  EXPECT_EQ(gaps_of(whole, {}), std::vector<TimeSpan>{whole});
  EXPECT_EQ(gaps_of(whole, {{0, 5 * kS}, {80 * kS, 90 * kS}}), std::vector<TimeSpan>{whole});
  EXPECT_EQ(gaps_of(whole, {{0, 90 * kS}}), std::vector<TimeSpan>{});
  EXPECT_EQ(gaps_of(whole, {{30 * kS, 70 * kS}, {10 * kS, 30 * kS - kS / 20}}), std::vector<TimeSpan>{});
  EXPECT_EQ(gaps_of(whole, {{40 * kS, 50 * kS}, {5 * kS, 20 * kS}, {12 * kS, 15 * kS}}),
            (std::vector<TimeSpan>{{20 * kS, 40 * kS}, {50 * kS, 70 * kS}}));
  // Windows of a store touch each other, as well as the clock of the wall can say.
  EXPECT_EQ(gaps_of(whole, {{0, 10 * kS + kS / 50}, {70 * kS - kS / 50, 99 * kS}}),
            std::vector<TimeSpan>{whole});
}

TEST(ClickHouseRows, TwoHalvesHaveTheSumsOfTheWhole) {
  model::for_each_profile(40, [](const Profile& random) {
    Profile profile = random;
    make_addable(profile);
    if (!rows_of(profile, {"s", "h", "v"})) return;
    const TimeSpan whole = span_of(profile);
    const std::uint64_t middle = whole.from_unix_ns + (whole.until_unix_ns - whole.from_unix_ns) / 3;
    auto sums = sums_of(rows_of_gaps(profile, {"s", "h", "v"}, {{whole.from_unix_ns, middle}}).value());
    for (const auto& [metric, sum] :
         sums_of(rows_of_gaps(profile, {"s", "h", "v"}, {{middle, whole.until_unix_ns}}).value()))
      sums[metric] += sum;
    const auto all = sums_of(rows_for(profile, UINT64_MAX / 4));
    for (const char* metric : {"cpu", kQualitySamples, kQualityLost})
      EXPECT_EQ(sums[metric], all.count(metric) ? all.at(metric) : 0) << metric;
  });
}

TEST(ClickHouseRows, DamagedAnswersAreErrorsAndNeverMore) {
  Engine engine;
  engine.add(rows_for(model::random_profile(3, plain())));
  const std::string stacks = engine.stacks(), sums = engine.sums();
  ASSERT_TRUE(profile_of(somewhere(), {}, stacks, sums));
  for (std::size_t size = 0; size < stacks.size(); size += 1 + stacks.size() / 300)
    (void)profile_of(somewhere(), {}, stacks.substr(0, size), sums);
  for (std::size_t i = 0; i < sums.size(); i += 1 + sums.size() / 300) {
    std::string damaged = sums;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    (void)profile_of(somewhere(), {}, stacks, damaged);
  }
  EXPECT_FALSE(profile_of(somewhere(), {}, stacks.substr(0, stacks.size() - 1), sums));
  EXPECT_FALSE(profile_of(somewhere(), {}, stacks, sums.substr(0, sums.size() - 1)));
}

TEST(ClickHouseRows, ValuesOfSeveralRatesBecomeTimes) {
  RowBinaryWriter out;
  out.text("cpu")
      .text("t")
      .number(std::uint64_t{10'000'000})
      .number(std::uint64_t{0})
      .number(std::int64_t{3});
  out.text("cpu").text("t").number(std::uint64_t{1'000'000}).number(std::uint64_t{0}).number(std::int64_t{5});
  const auto profile = profile_of(somewhere(), {}, "", out.bytes());
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(total_of(*profile, Metric::kCpu), 35'000'000);
  EXPECT_EQ(analysis::unit_of(*profile, Metric::kCpu), "ns");
}

TEST(ClickHouseRows, AStackThatIsMissingIsShownAndCounted) {
  RowBinaryWriter out;
  out.text("cpu")
      .text("t")
      .number(std::uint64_t{10'000'000})
      .number(std::uint64_t{77})
      .number(std::int64_t{3});
  const auto profile = profile_of(somewhere(), {}, "", out.bytes());
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->meta.frequency_hz, 100U);
  EXPECT_THAT(profile->quality.notes, testing::ElementsAre(testing::HasSubstr(
                                          "1 rows have a stack that the table fathom_stacks does not have")));
}

}  // namespace
}  // namespace fathom::clickhouse
