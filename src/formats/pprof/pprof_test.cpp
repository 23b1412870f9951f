#include "formats/pprof/pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/import/import_testing.h"
#include "formats/pprof/pprof_bytes.h"
#include "model/exact_count.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;
using testing::HasSubstr;

// A kettle of two functions, one inlined into the other, and one of a library.
PprofBytes kettle() {
  PprofBytes bytes;
  bytes.mapping(1, 0x400000, "/opt/kettle", "ab12").mapping(2, 0x7f0000, "/lib/libc.so.6");
  bytes.function(1, "main", "kettle.c").function(2, "heat", "kettle.c").function(3, "boil", "kettle.c");
  bytes.location(1, {{1, 10}}, 1, 0x401000).location(2, {{3, 30}, {2, 20}}, 1, 0x402000);
  bytes.location(3, {}, 2, 0x7f1234);
  return bytes;
}

TEST(Pprof, IsKnownByItsFieldsAlsoWhenItIsCut) {
  PprofBytes bytes = kettle();
  bytes.type("samples", "count");
  const std::string all = PprofBytes(bytes).type("cpu", "nanoseconds").bytes();
  EXPECT_TRUE(is_pprof(all));
  EXPECT_TRUE(is_pprof(PprofBytes().type("samples", "count").sample({}, {1}).bytes().substr(0, 12)));
  EXPECT_FALSE(is_pprof("main;f 1\n"));
  EXPECT_FALSE(is_pprof("\n\x04text of an empty line"));
  EXPECT_FALSE(is_pprof(""));
  EXPECT_FALSE(is_pprof(kettle().bytes())) << "without a type of values it could be any message";
}

TEST(Pprof, CpuTimesThatAreSamplesAtARateAreSamples) {
  PprofBytes bytes = kettle();
  bytes.type("samples", "count").type("cpu", "nanoseconds").period("cpu", "nanoseconds", 10'000'000);
  bytes.sample({2, 1}, {3, 30'000'000}).sample({1}, {1, 10'000'000}).sample({3, 1}, {2, 20'000'000});
  bytes.number(10, 2'000'000'000);
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(profile.meta.frequency_hz, 100u);
  EXPECT_EQ(profile.quality.samples, 6u);
  EXPECT_DOUBLE_EQ(profile.duration_s(), 2);
  EXPECT_THAT(stacks_of(profile),
              ElementsAre("kettle;main 1", "kettle;main;[libc.so.6+0x1234] 2", "kettle;main;heat;boil 3"));
  EXPECT_EQ(profile.strings[profile.modules[1].build_id], "ab12");
}

TEST(Pprof, CpuTimesThatAreNotStayTimes) {
  PprofBytes bytes = kettle();
  bytes.type("samples", "count").type("cpu", "microseconds").period("cpu", "nanoseconds", 10'000'000);
  bytes.sample({1}, {3, 7});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "ns");
  EXPECT_EQ(total_of(profile, Metric::kCpu), 7'000);
  EXPECT_EQ(profile.quality.samples, 3u);
}

// What a sample stands for is said by the period: only CPU time is CPU time.
TEST(Pprof, ThePeriodSaysWhatSamplesAndTimeAre) {
  struct Case {
    const char *time, *period;  // kinds; empty: there is no such column
    Metric metric;
    std::int64_t total;
  };
  for (const Case& row : {Case{"time", "wallclock", Metric::kWall, 700},
                          Case{"time", "wall", Metric::kWall, 700}, Case{"time", "cpu", Metric::kCpu, 700},
                          Case{"time", "", Metric::kWall, 700}, Case{"", "wallclock", Metric::kWall, 2000},
                          Case{"", "off-cpu", Metric::kOffCpu, 2000}, Case{"", "time", Metric::kWall, 2000},
                          Case{"", "cpu", Metric::kCpu, 2}, Case{"", "", Metric::kCpu, 2}}) {
    PprofBytes bytes = kettle();
    bytes.type("samples", "count");
    if (*row.time != 0) bytes.type(row.time, "nanoseconds");
    if (*row.period != 0) bytes.period(row.period, "nanoseconds", 1000);
    bytes.sample({1}, *row.time != 0 ? std::vector<std::int64_t>{2, 700} : std::vector<std::int64_t>{2});
    const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
    for (const Metric metric : {Metric::kCpu, Metric::kOffCpu}) {
      const bool is_whole = metric == row.metric;
      EXPECT_EQ(total_of(profile, metric), is_whole ? row.total : 0) << row.time << " of " << row.period;
    }
    if (row.metric == Metric::kWall) {
      EXPECT_EQ(total_of(profile, Metric::kWall), row.total) << row.time << " of " << row.period;
    }
    EXPECT_EQ(profile.quality.samples, 2u);
    EXPECT_THAT(profile.quality.notes, testing::IsEmpty());
  }
}

TEST(Pprof, ValuesWithoutANameAreNoCpuTime) {
  PprofBytes bytes = kettle();
  bytes.type("", "").sample({1}, {7});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "values");
  EXPECT_THAT(profile.quality.notes, ElementsAre("The file does not say what its values are."));
}

TEST(Pprof, WallTimeBesideCpuTimeIsCountedOnce) {
  PprofBytes bytes = kettle();
  bytes.type("cpu-time", "nanoseconds").type("wall-time", "nanoseconds");
  bytes.sample({1}, {100, 400}).sample({2, 1}, {50, 50});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(total_of(profile, Metric::kCpu), 150);
  EXPECT_EQ(total_of(profile, Metric::kOffCpu), 300);
  EXPECT_EQ(total_of(profile, Metric::kWall), 450);
}

TEST(Pprof, WallTimeBelowCpuTimeIsLeftOutAndSaid) {
  PprofBytes bytes = kettle();
  bytes.type("cpu", "nanoseconds").type("wall", "nanoseconds").sample({1}, {100, 40});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(total_of(profile, Metric::kCpu), 100);
  EXPECT_THAT(profile.quality.notes,
              ElementsAre(HasSubstr("wall-clock times that are less than its CPU times")));
}

TEST(Pprof, DelaysAreTimeOffTheCpu) {
  PprofBytes bytes = kettle();
  bytes.type("contentions", "count").type("delay", "nanoseconds").sample({1}, {469, 1'366'157'314});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(total_of(profile, Metric::kOffCpu), 1'366'157'314);
  EXPECT_THAT(profile.quality.notes, ElementsAre(HasSubstr("469 waits for locks and channels were counted")));
}

TEST(Pprof, WhatIsNoTimeAndNoMemoryKeepsItsName) {
  PprofBytes bytes = kettle();
  bytes.type("goroutine", "count").sample({1}, {7});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "goroutine");
  EXPECT_TRUE(model::counts_all(profile));
  EXPECT_EQ(total_of(profile, Metric::kCpu), 7);
  EXPECT_THAT(profile.quality.notes, ElementsAre("The values are goroutine (count) and no CPU time."));
}

TEST(Pprof, LabelsTellThreadsApart) {
  PprofBytes bytes = kettle();
  bytes.type("samples", "count");
  const std::string press = bytes.text_label("worker", "0") + bytes.text_label("kind", "press");
  bytes.sample({1}, {2}, press).sample({1}, {5}).sample({1}, {1}, bytes.number_label("bytes", 80));
  EXPECT_THAT(stacks_of(read_pprof(bytes.bytes(), "x").value()),
              ElementsAre("(no label);main 6", "kind=press worker=0;main 2"));
}

TEST(Pprof, LabelsOfThreadsAreTheThreads) {
  PprofBytes bytes = kettle();
  bytes.type("samples", "count");
  const std::string labels = bytes.text_label("thread name", "io") + bytes.number_label("thread id", 42) +
                             bytes.text_label("span", "abc") + bytes.number_label("process_id", 7);
  bytes.sample({1}, {2}, labels);
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.strings[profile.threads[0].name], "io");
  EXPECT_EQ(profile.threads[0].tid, 42);
  EXPECT_EQ(profile.processes[0].pid, 7);
}

TEST(Pprof, AHeapIsOneMomentWithTheIntervalOfItsSampling) {
  PprofBytes bytes = kettle();
  bytes.type("alloc_objects", "count").type("alloc_space", "bytes");
  bytes.type("inuse_objects", "count").type("inuse_space", "bytes").period("space", "bytes", 4096);
  bytes.sample({2, 1}, {100, 8'000, 25, 2'000}, bytes.number_label("bytes", 80));
  bytes.sample({2, 1}, {1, 20'000, 0, 0}, bytes.number_label("bytes", 20'000)).sample({1}, {3, 30, 3, 30});
  const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocated), 28'030);
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocations), 104);
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), 2'030);
  EXPECT_EQ(profile.heap.heaps[0].mean_bytes, 4096u);
  // 80 bytes of one in 4096: p = 0.0193, so of 100 blocks the variance is 100 (1 - p) / p.
  EXPECT_NEAR(profile.heap.rows[0].allocated_variance.blocks, 5070, 1);
  EXPECT_NEAR(profile.heap.rows[0].allocated_variance.blocks - profile.heap.rows[0].freed_variance.blocks,
              5070 / 4, 1);
  EXPECT_EQ(profile.heap.histograms.size(), 2u);
  EXPECT_EQ(profile.meta.facts.at("heap source"), "dump");
  const std::vector<Metric> metrics = analysis::metrics_in(profile);
  EXPECT_THAT(metrics, testing::Contains(Metric::kHeapLive));
  EXPECT_THAT(metrics, testing::Not(testing::Contains(Metric::kHeapPeak)));
}

// pprof -diff_base and what is taken over some seconds. What is less than nothing has no share of anything.
TEST(Pprof, OfADifferenceWhatGrewIsShown) {
  struct Case {
    std::vector<std::pair<std::string, std::string>> types;
    std::vector<std::int64_t> grew, fell;
    Metric metric;
    std::int64_t total;
    std::string note;
  };
  const std::vector<Case> cases = {
      {{{"inuse_objects", "count"}, {"inuse_space", "bytes"}},
       {3, 300},
       {-2, -200},
       Metric::kHeapLive,
       300,
       "inuse_space grew by 300 bytes in some places, which is shown, and fell by 200 in others"},
      {{{"inuse_space", "kilobytes"}}, {3}, {-2}, Metric::kHeapLive, 3072, "inuse_space grew by 3 kilobytes"},
      {{{"alloc_objects", "count"}, {"alloc_space", "bytes"}},
       {3, 300},
       {-2, -200},
       Metric::kHeapAllocated,
       300,
       "alloc_space grew by 300 bytes"},
      {{{"cpu", "nanoseconds"}}, {50}, {-20}, Metric::kCpu, 50, "cpu grew by 50 nanoseconds"},
      {{{"samples", "count"}}, {5}, {-9}, Metric::kCpu, 5, "samples grew by 5 count"},
      {{{"goroutine", "count"}}, {5}, {-7}, Metric::kCpu, 5, "goroutine grew by 5 count"},
      {{{"contentions", "count"}, {"delay", "nanoseconds"}},
       {5, 100},
       {-1, -40},
       Metric::kOffCpu,
       100,
       "delay grew by 100 nanoseconds"}};
  for (const Case& each : cases) {
    PprofBytes bytes = kettle();
    for (const auto& [type, unit] : each.types) bytes.type(type, unit);
    bytes.sample({1}, each.grew).sample({2, 1}, each.fell);
    const Result<model::Profile> profile = read_pprof(bytes.bytes(), "x.pb");
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(total_of(*profile, each.metric), each.total) << each.note;
    EXPECT_THAT(profile->quality.notes, testing::Contains(HasSubstr(each.note)));
  }
}

TEST(Pprof, NumbersOfObjectsAloneAreNoHeap) {
  for (const char* type : {"inuse_objects", "alloc_objects"}) {
    PprofBytes bytes = kettle();
    bytes.type(type, "count").sample({1}, {12});
    const model::Profile profile = read_pprof(bytes.bytes(), "x.pb").value();
    EXPECT_TRUE(profile.heap.heaps.empty());
    EXPECT_THAT(stacks_of(profile), ElementsAre(HasSubstr("main 12")));
    EXPECT_THAT(profile.quality.notes,
                testing::Contains(HasSubstr(std::string(type) + " (count) and no CPU time")));
  }
}

TEST(Pprof, OfHowManyBlocksAnAmountWasMayBeUnknown) {
  PprofBytes bytes = kettle();
  bytes.type("inuse_space", "bytes").sample({1}, {5});
  const model::Profile profile = read_pprof(bytes.bytes(), "x.pb").value();
  EXPECT_EQ(profile.meta.facts.at("heap block counts"), "not counted");
}

// Go's /debug/pprof/heap?seconds=30.
TEST(Pprof, WhatWasAllocatedIsShownBesideAChangeOfWhatIsLive) {
  PprofBytes bytes = kettle();
  bytes.type("alloc_objects", "count").type("alloc_space", "bytes");
  bytes.type("inuse_objects", "count").type("inuse_space", "bytes");
  bytes.sample({1}, {1000, 64'000, -10, -640}).sample({2, 1}, {5, 50, 4, 40});
  const Result<model::Profile> profile = read_pprof(bytes.bytes(), "x.pb");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(total_of(*profile, Metric::kHeapAllocated), 64'050);
  EXPECT_THAT(profile->quality.notes,
              testing::Contains(HasSubstr("What was live changed by -600 bytes in -6 objects in all")));
  EXPECT_THAT(analysis::metrics_in(*profile), testing::Not(testing::Contains(Metric::kHeapLive)));
}

TEST(Pprof, UnitsOfMemoryAreBytes) {
  const std::vector<std::pair<const char*, std::int64_t>> units = {
      {"bytes", 1},           {"byte", 1},     {"B", 1},
      {"kilobytes", 1 << 10}, {"kB", 1 << 10}, {"KiB", 1 << 10},
      {"megabytes", 1 << 20}, {"MB", 1 << 20}, {"gigabyte", 1 << 30}};
  for (const auto& [unit, factor] : units) {
    PprofBytes bytes = kettle();
    bytes.type("inuse_objects", "count").type("inuse_space", unit).sample({1}, {3, 300});
    EXPECT_EQ(total_of(read_pprof(bytes.bytes(), "x").value(), Metric::kHeapLive), 300 * factor) << unit;
  }
  PprofBytes bytes = kettle();
  bytes.type("inuse_objects", "count").type("inuse_space", "furlongs").sample({1}, {3, 300});
  EXPECT_THAT(read_pprof(bytes.bytes(), "x").value().quality.notes,
              testing::Contains(HasSubstr("inuse_space (furlongs)")));
}

// Pyroscope and Grafana give one kind of value in a file.
TEST(Pprof, OneAmountOfAHeapIsEnough) {
  for (const auto& [type, metric, other] :
       {std::tuple("alloc_space", Metric::kHeapAllocated, Metric::kHeapLive),
        std::tuple("inuse_space", Metric::kHeapLive, Metric::kHeapAllocated)}) {
    PprofBytes bytes = kettle();
    bytes.type(type, "bytes").sample({1}, {300}).sample({2, 1}, {50});
    const model::Profile profile = read_pprof(bytes.bytes(), "x").value();
    EXPECT_EQ(total_of(profile, metric), 350) << type;
    EXPECT_THAT(analysis::metrics_in(profile), testing::Contains(metric));
    EXPECT_THAT(analysis::metrics_in(profile), testing::Not(testing::Contains(other))) << type;
    EXPECT_THAT(profile.quality.notes,
                testing::Contains(HasSubstr("The file does not record how many blocks")));
  }
}

TEST(Pprof, DamageIsSaidWithItsPlace) {
  const auto refusal = [](PprofBytes& bytes) { return read_pprof(bytes.bytes(), "x").error().message; };
  PprofBytes values = kettle();
  values.type("samples", "count").sample({1}, {1}).sample({1}, {1, 2}).sample({1}, {});
  EXPECT_THAT(refusal(values), HasSubstr("sample 3: 0 values, and the profile has 1 kinds"));
  PprofBytes damaged;
  damaged.type("samples", "count").add(2, "\x0a\x70");
  EXPECT_THAT(refusal(damaged), HasSubstr("sample 1: its bytes are damaged"));
  PprofBytes times;
  times.type("wall", "seconds").sample({}, {INT64_MAX});
  EXPECT_THAT(refusal(times), HasSubstr("a time of more than 292 years"));
}

TEST(Pprof, PlacesThatTheTablesLackStayUnknown) {
  PprofBytes bytes;
  bytes.type("samples", "count").location(5, {{99, 1}}, 77, 0).sample({5, 6}, {1});
  EXPECT_THAT(stacks_of(read_pprof(bytes.bytes(), "x").value()), ElementsAre("x;[unknown];[unknown] 1"));
}

TEST(Pprof, EveryPrefixIsReadOrRefusedInOneLine) {
  PprofBytes bytes = kettle();
  bytes.type("alloc_objects", "count").type("inuse_space", "bytes").sample({2, 1}, {100, 8'000});
  const std::string all = bytes.bytes();
  for (std::size_t size = 0; size < all.size(); ++size) {
    const auto read = read_pprof(all.substr(0, size), "x");
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos) << size;
    }
  }
}

}  // namespace
}  // namespace fathom::formats
