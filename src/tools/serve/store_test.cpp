#include "tools/serve/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include "tools/serve/retention.h"
#include "tools/serve/store_lock.h"
#include "tools/serve/testing_recording.h"
#include "tools/serve/upgrade.h"

namespace fathom::serve {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  Store() {
    std::string pattern = (fs::temp_directory_path() / "fathom-store-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Store() override { fs::remove_all(folder_); }
  std::string folder_;
};

TEST_F(Store, OneServiceAtATimeWritesIntoTheFolderOfATarget) {
  const std::string target = folder_ + "/made/postgres", other = folder_ + "/made/redis";
  {
    const auto first = StoreLock::take(target);
    ASSERT_TRUE(first) << first.error().message;
    const auto second = StoreLock::take(target);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kPermission);
    EXPECT_NE(second.error().remedy.find("--store"), std::string::npos);
    EXPECT_TRUE(StoreLock::take(other)) << "another target";
    std::ofstream(target + "/window") << "kept";
  }
  EXPECT_TRUE(StoreLock::take(target)) << "it ends with its holder";
  EXPECT_TRUE(fs::exists(target + "/window"));
  EXPECT_FALSE(fs::exists(other)) << "nothing was written there";
}

TEST(WindowNames, AreReadAsTheyWereWritten) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    WindowName name;
    name.start_unix_ns = random() % 4'000'000'000'000 * 1'000'000;
    name.length_ms = 1 + random() % 4'000'000;
    name.pinned = random() % 2 == 0;
    const auto read = parse_window_name(to_file_name(name));
    ASSERT_TRUE(read) << to_file_name(name);
    EXPECT_EQ(*read, name);
  }
  EXPECT_EQ(to_file_name({1'764'233'820'020'000'000, 60'040, true}),
            "20251127T085700.020Z-60.040s-pinned.fathom");
}

TEST(WindowNames, OthersAreNone) {
  const std::string good = "20251127T085700.020Z-60.040s.fathom";
  ASSERT_TRUE(parse_window_name(good));
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_FALSE(parse_window_name(good.substr(0, i)));
  for (const char* wrong : {"20251131T085700.020Z-60.040s.fathom", "20251127T245700.020Z-60.040s.fathom",
                            "20251127T085700.020Z-0.000s.fathom", "20251127T085700.020Z--1.000s.fathom",
                            "20251127T085700.020Z-60.040s-pinned.svg", "x20251127T085700.020Z-60.040s.fathom",
                            "20251127T085700.020Z-99999999999999999999.000s.fathom"})
    EXPECT_FALSE(parse_window_name(wrong)) << wrong;
}

TEST(FolderNames, StayInTheirFolder) {
  for (const char* name : {"../../etc", "/", ".", "..", ".hidden", "-rf", "a b", "", "\xff\n", "a/b"}) {
    const std::string folder = folder_name(name);
    EXPECT_FALSE(folder.empty());
    EXPECT_EQ(folder.find('/'), std::string::npos);
    EXPECT_NE(folder.front(), '.');
    EXPECT_NE(folder.front(), '-');
  }
  EXPECT_EQ(folder_name("redis-server"), "redis-server");
}

TEST(StoredWindows, ALongerOneReplacesThoseInside) {
  const auto window = [](std::uint64_t start_s, std::uint64_t length_ms) {
    return StoredWindow{{start_s * 1'000'000'000, length_ms, false}, "x", 0};
  };
  // Three of a minute, two of which were merged; and one that begins where the merged one ends.
  const auto kept =
      without_replaced({window(60, 60'000), window(0, 60'000), window(0, 120'040), window(120, 500)});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].name.length_ms, 120'040u);
  EXPECT_EQ(kept[1].name.start_unix_ns, 120'000'000'000u);
}

// The main promise: a range that crosses windows is one recording of its time.
TEST_F(Store, WindowsReadTogetherAreOneRecordingToTheUnit) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const std::string target = folder_ + "/t" + std::to_string(seed);
    const TestingRecording recording(seed);
    for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
    const auto windows = windows_in(target);
    ASSERT_EQ(windows.size(), recording.windows().size());
    const auto together = read_windows(windows);
    ASSERT_TRUE(together) << together.error().message;
    EXPECT_EQ(sums_of(*together), sums_of(recording.whole()));
    EXPECT_EQ(together->meta.start_ns, recording.whole().meta.start_ns);
    EXPECT_EQ(together->meta.end_ns, recording.whole().meta.end_ns);
    EXPECT_EQ(together->quality.samples, recording.whole().quality.samples);
  }
}

TEST_F(Store, AgeingKeepsAllSumsAndAKillBetweenTheStepsCountsNothingTwice) {
  const TestingRecording recording(7, 40);
  const std::string target = folder_ + "/t";
  for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
  const auto before = windows_in(target);
  const Sums sums = sums_of(*read_windows(before));
  RetentionRule rule;
  rule.keep_ns = std::nullopt;
  const std::uint64_t now = before.back().name.end_unix_ns() + 2 * 3'600'000'000'000;
  const auto groups = to_merge(before, rule, now);
  ASSERT_FALSE(groups.empty());
  // The longer window is there, and the shorter ones are not gone yet.
  ASSERT_TRUE(write_window(target, *read_windows(groups.front())));
  EXPECT_EQ(sums_of(*read_windows(windows_in(target))), sums);
  const Aged aged = age_store(folder_, rule, now);
  EXPECT_TRUE(aged.problems.empty());
  EXPECT_LT(windows_in(target, true).size(), before.size());
  EXPECT_EQ(sums_of(*read_windows(windows_in(target, true))), sums);
  EXPECT_EQ(age_store(folder_, rule, now).merged, 0u) << "nothing is left to do";
}

TEST_F(Store, APinnedWindowStaysOneAmongThoseThatAreMerged) {
  const TestingRecording recording(9, 40);
  const std::string target = folder_ + "/t";
  for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
  const auto before = windows_in(target);
  const Sums sums = sums_of(*read_windows(before));
  pin_window(before[14]);
  RetentionRule rule;
  rule.keep_ns = 1;
  const std::uint64_t now = before.back().name.end_unix_ns() + 2 * 3'600'000'000'000;
  RetentionRule merging;
  merging.keep_ns = std::nullopt;
  EXPECT_GT(age_store(folder_, merging, now).merged, 0u);
  EXPECT_EQ(sums_of(*read_windows(windows_in(target))), sums);
  (void)age_store(folder_, rule, now);
  const auto left = windows_in(target);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].name.pinned);
  EXPECT_EQ(left[0].name.start_unix_ns, before[14].name.start_unix_ns);
}

TEST_F(Store, TheLastUpgradeIsTheLastChangeOfTheBuildIdAndWindowsOfBothBuildsAreNeither) {
  const TestingRecording recording(11, 8);
  const std::string target = folder_ + "/t";
  const char* const builds[] = {"aa", "aa", "aa", "bb", "bb", "both", "cc", "cc", "cc"};
  std::size_t number = 0;
  for (model::Profile window : recording.windows()) {
    ASSERT_LT(number, std::size(builds));
    const std::string build = builds[number++];
    for (model::Module& module : window.modules)
      if (module.path.value != 0) module.build_id = window.strings.intern(build == "both" ? "bb" : build);
    if (build == "both") {
      model::Module second = window.modules.back();
      second.build_id = window.strings.intern("cc");
      window.modules.push_back(second);
    }
    ASSERT_TRUE(write_window(target, window));
  }
  ASSERT_EQ(number, std::size(builds));
  const auto windows = windows_in(target);
  const auto before = windows_beside_upgrade(windows, false), after = windows_beside_upgrade(windows, true);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(before->size(), 2u);
  ASSERT_EQ(after->size(), 3u);
  EXPECT_EQ(before->front().path, windows[3].path);
  EXPECT_EQ(after->front().path, windows[6].path);
  EXPECT_FALSE(windows_beside_upgrade({windows.begin(), windows.begin() + 3}, true))
      << "there was no upgrade";
}

TEST_F(Store, ARangeCutsRowsToTheMillisecondAndCountsWhatItLeavesOut) {
  const TestingRecording recording(12, 3);
  const std::string target = folder_ + "/t";
  for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
  const auto windows = windows_in(target);
  const std::uint64_t start = recording.whole().meta.start_unix_ns;
  const TimeRange range{start + 50'000'000'000, start + 80'000'000'000};
  const auto cut = read_windows(windows_of(windows, range), range);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(model::check(*cut));
  EXPECT_EQ(cut->meta.end_ns - cut->meta.start_ns, 30'000'000'000u);
  const std::uint64_t from = recording.whole().meta.start_ns + 50'000'000'000;
  std::size_t samples = 0;
  std::uint64_t waited = 0, whole_waited = 0;
  for (const model::Sample& row : recording.whole().samples)
    samples += row.time_ns >= from && row.time_ns < from + 30'000'000'000 ? 1 : 0;
  for (const model::Wait& row : cut->waits) waited += row.waited_ns;
  for (const model::Wait& row : recording.whole().waits)
    if (const auto part = part_of(row, from, from + 30'000'000'000)) whole_waited += part->waited_ns;
  EXPECT_EQ(cut->samples.size(), samples);
  EXPECT_EQ(cut->samples.size() + cut->quality.filtered, cut->quality.samples);
  EXPECT_EQ(waited, whole_waited);
}

TEST_F(Store, ARangeHasTheHeapThatWasLiveAtItsStartAndWhatHappenedInIt) {
  const TestingRecording recording(6, 6);
  const std::string target = folder_ + "/t";
  for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
  const model::Meta& whole = recording.whole().meta;
  const auto heap_between = [&](std::uint64_t from_ns, std::uint64_t until_ns) {
    const TimeRange range{whole.start_unix_ns + from_ns, whole.start_unix_ns + until_ns};
    auto cut = read_windows(windows_of(windows_in(target), range), range);
    EXPECT_TRUE(cut && model::check(*cut));
    return sums_of(*cut).heap;
  };
  // Windows 1 to 3; then a range that begins and ends within windows, and what is on both sides of it.
  const std::uint64_t from = recording.windows()[1].meta.start_ns - whole.start_ns,
                      until = recording.windows()[3].meta.end_ns - whole.start_ns,
                      end = whole.end_ns - whole.start_ns;
  analysis::Selection time;
  time.from_ns = from;
  time.to_ns = until;
  EXPECT_EQ(heap_between(from, until), sums_of(recording.whole(), time).heap);
  const std::uint64_t middle = from + 37'000'000'000;
  const auto first = heap_between(0, middle), second = heap_between(middle, end);
  for (const auto& [place, sums] : sums_of(recording.whole()).heap) {
    const auto [allocated, freed, before, live, blocks] = sums;
    const auto &a = first.at(place), &b = second.at(place);
    EXPECT_EQ(std::get<0>(a) + std::get<0>(b), allocated);
    EXPECT_EQ(std::get<1>(a) + std::get<1>(b), freed);
    EXPECT_EQ(std::get<2>(a), before);
    EXPECT_EQ(std::get<3>(a), std::get<2>(b)) << "the second one begins with what the first one left";
    EXPECT_EQ(std::get<3>(b), live);
  }
}

TEST_F(Store, AMissingWindowChangesNeitherWhatIsLiveNorTheGrowth) {
  const TestingRecording recording(8, 6);
  const std::string target = folder_ + "/t";
  for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
  auto windows = windows_in(target);
  windows.erase(windows.begin() + 3);
  const auto together = read_windows(windows);
  ASSERT_TRUE(together) << together.error().message;
  EXPECT_TRUE(model::check(*together));
  const Sums left = sums_of(*together), whole = sums_of(recording.whole());
  double allocated_less = 0;
  for (const auto& [place, sums] : whole.heap) {
    EXPECT_EQ(std::get<2>(left.heap.at(place)), std::get<2>(sums));
    EXPECT_EQ(std::get<3>(left.heap.at(place)), std::get<3>(sums));
    allocated_less += std::get<0>(sums) - std::get<0>(left.heap.at(place));
  }
  EXPECT_GT(allocated_less, 0) << "what came and went in the missing time is not known";
}

// A target that starts again has another heap, and the memory of the one before is gone.
TEST_F(Store, WhatAnEndedProcessHeldIsNotLiveWhenTheNextOneRuns) {
  const TestingRecording first(2, 3), second(3, 3);
  const std::string target = folder_ + "/t";
  std::vector<model::Profile> windows = first.windows();
  const std::uint64_t later = 400'000'000'000;
  for (model::Profile window : second.windows()) {
    window.processes[0].pid = 200;
    window.meta.start_unix_ns += later;
    windows.push_back(std::move(window));
  }
  for (const model::Profile& window : windows) ASSERT_TRUE(write_window(target, window));
  const auto together = read_windows(windows_in(target));
  ASSERT_TRUE(together) << together.error().message;
  const analysis::HeapSums sums(*together, {}), last(second.whole(), {}), ended(first.whole(), {});
  EXPECT_EQ(sums.total().live.bytes.value, last.total().live.bytes.value);
  EXPECT_EQ(sums.total().allocated.bytes.value,
            last.total().allocated.bytes.value + ended.total().allocated.bytes.value);
  EXPECT_TRUE(std::ranges::any_of(together->quality.notes, [](const std::string& note) {
    return note.find("count as freed") != note.npos;
  }));
}

TEST_F(Store, ARangeHasOnlyItsShareOfTheExactTimesOfThreads) {
  const TestingRecording recording(5, 3);
  const std::string target = folder_ + "/t";
  for (const model::Profile& window : recording.windows()) ASSERT_TRUE(write_window(target, window));
  const std::uint64_t start = recording.whole().meta.start_unix_ns, second = 1'000'000'000;
  const auto cut_times = [&](std::uint64_t from_s, std::uint64_t until_s) {
    const TimeRange range{start + from_s * second, start + until_s * second};
    const auto cut = read_windows(windows_of(windows_in(target), range), range);
    EXPECT_TRUE(cut);
    std::array<double, 4> times{};
    for (const model::Thread& thread : cut->threads) {
      times[0] += static_cast<double>(thread.cpu_ns);
      times[1] += static_cast<double>(thread.ran_ns);
      times[2] += static_cast<double>(thread.waited_ns);
      times[3] += static_cast<double>(thread.queued_ns);
    }
    return times;
  };
  const auto whole = cut_times(0, 180), first = cut_times(0, 50), middle = cut_times(50, 80),
             last = cut_times(80, 180);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(first[i] + middle[i] + last[i], whole[i], whole[i] * 1e-6 + 1000) << i;
    EXPECT_LT(middle[i], whole[i] / 2 + 1) << i;
  }
}

TEST(Retention, LargeWindowsAreMergedInPartsThatFitIntoMemory) {
  std::vector<StoredWindow> windows;
  for (std::uint64_t i = 0; i < 10; ++i)
    windows.push_back({{i * 60'000'000'000, 60'000, false}, std::to_string(i), std::uint64_t{3} << 20});
  windows[9].bytes = std::uint64_t{9} << 20;
  const auto groups = to_merge(windows, {}, 2 * 3'600'000'000'000);
  ASSERT_EQ(groups.size(), 4u);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ASSERT_EQ(groups[i].size(), 2u);
    EXPECT_EQ(groups[i].front().path, std::to_string(2 * i));
  }
}

TEST(Retention, TheOldestGoAndPinnedOnesStay) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 200; ++run) {
    std::vector<StoredWindow> windows;
    std::uint64_t pinned_bytes = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const bool pinned = random() % 5 == 0;
      windows.push_back({{i * 60'000'000'000, 60'000, pinned}, std::to_string(i), random() % 1000});
      if (pinned) pinned_bytes += windows.back().bytes;
    }
    RetentionRule rule;
    rule.keep_ns =
        random() % 2 == 0 ? std::optional<std::uint64_t>(random() % 50 * 60'000'000'000) : std::nullopt;
    rule.most_bytes = random() % 20'000;
    const std::uint64_t now = 50 * 60'000'000'000ull;
    const auto gone = to_remove(windows, rule, now);
    std::uint64_t left = 0, newest_gone = 0;
    for (const StoredWindow& window : windows) left += window.bytes;
    std::uint64_t pinned_left = pinned_bytes;
    for (const StoredWindow& window : gone) {
      if (window.name.pinned) {
        EXPECT_GT(pinned_left, *rule.most_bytes / 2);
        pinned_left -= window.bytes;
      }
      left -= window.bytes;
      if (!window.name.pinned) newest_gone = std::max(newest_gone, window.name.start_unix_ns);
    }
    EXPECT_LE(pinned_left, *rule.most_bytes / 2);
    EXPECT_LE(left, *rule.most_bytes);
    for (const StoredWindow& window : windows) {
      const bool went = std::ranges::find(gone, window.path, &StoredWindow::path) != gone.end();
      if (!window.name.pinned && window.name.start_unix_ns < newest_gone) {
        EXPECT_TRUE(went);
      }
      if (rule.keep_ns && window.name.end_unix_ns() + *rule.keep_ns < now && !window.name.pinned) {
        EXPECT_TRUE(went);
      }
    }
  }
}

}  // namespace
}  // namespace fathom::serve
