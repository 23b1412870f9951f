#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "analysis/core/call_tree.h"
#include "analysis/heap/hand_made_heap.h"
#include "analysis/waits/hand_made_waits.h"
#include "base/files.h"
#include "model/random_profile.h"
#include "tools/clickhouse/rows.h"
#include "tools/dataset/layout.h"
#include "tools/dataset/read.h"
#include "tools/dataset/write.h"

namespace fathom::dataset {
namespace {

namespace fs = std::filesystem;
using model::Metric;
using model::Profile;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Metric kSummable[] = {Metric::kCpu, Metric::kOffCpu, Metric::kHeapAllocated,
                                Metric::kHeapAllocations};
constexpr std::uint64_t kMinuteNs = 60'000'000'000, kBeginNs = 1'764'000'000'000'000'000;

std::int64_t total_in(const Profile& profile, Metric metric) {
  analysis::TreeOptions options;
  options.selection.metric = metric;
  return analysis::build_call_tree(profile, options).total;
}

std::map<std::string, std::int64_t> row_sums(const Profile& profile) {
  std::map<std::string, std::int64_t> sums;
  const auto rows = clickhouse::rows_of(profile, {"s", "h", "v"});
  if (!rows) return sums;
  for (const auto& window : rows->windows)
    for (const auto& row : window.samples) sums[row.metric] += row.value;
  return sums;
}

// Values near the limits of 64 bits cannot be added to anything.
Profile addable(Profile profile) {
  for (model::Sample& sample : profile.samples) sample.value %= 1'000'000'000;
  for (model::Wait& wait : profile.waits) {
    wait.waited_ns %= 1'000'000'000;
    wait.queued_ns %= 1'000'000'000;
    wait.weight = wait.weight % 100 + 1;
  }
  for (std::uint64_t* count : {&profile.quality.samples, &profile.quality.lost_ring_full,
                               &profile.quality.lost_stack, &profile.quality.lost_disk})
    *count %= 1'000'000'000;
  return profile;
}

// Of one minute that begins `minute` minutes after a fixed moment.
Profile of_minute(std::uint64_t seed, std::uint64_t minute) {
  model::RandomOptions options;
  options.only_text = true;
  Profile profile = addable(model::random_profile(seed, options));
  profile.meta.start_unix_ns = kBeginNs + minute * kMinuteNs;
  profile.meta.end_ns = profile.meta.start_ns + kMinuteNs;
  return profile;
}

class Dataset : public testing::Test {
 protected:
  Dataset() {
    std::string name = testing::TempDir() + "dataset-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~Dataset() override { fs::remove_all(folder_); }

  push::Sent write(const Profile& profile, const std::string& host = "h", const std::string& version = "v") {
    auto sent = Writer(folder_).send(profile, {"s", host, version});
    EXPECT_TRUE(sent) << sent.error().message;
    return sent ? *sent : push::Sent();
  }
  Result<clickhouse::Fetched> fetch(const std::string& choice = {}, clickhouse::TimeChoice time = {}) {
    clickhouse::Location location;
    EXPECT_TRUE(clickhouse::parse_choice(choice, location));
    return dataset::read(folder_, location, time);
  }
  std::int64_t cpu_in(const std::string& choice = {}, clickhouse::TimeChoice time = {}) {
    const auto fetched = fetch(choice, time);
    EXPECT_TRUE(fetched) << fetched.error().message;
    return fetched ? total_in(fetched->profile, Metric::kCpu) : -1;
  }
  std::map<std::string, std::string> files() {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) all[entry.path().string()] = read_file(entry.path().string()).value();
    return all;
  }
  std::string folder_;
};

TEST_F(Dataset, RecordingsComeBackWithTheSameTotals) {
  int checked = 0;
  model::for_each_profile(40, [&](const Profile& random) {
    const Profile profile = addable(random);
    if (!clickhouse::rows_of(profile, {"s", "h", "v"})) return;  // counts something that has no time
    fs::remove_all(folder_);
    write(profile);
    const auto back = fetch("", {0, std::nullopt});
    ASSERT_TRUE(back) << back.error().message;
    auto sums = row_sums(profile);
    for (const Metric metric : kSummable)
      EXPECT_EQ(total_in(back->profile, metric), sums[std::string(model::to_string(metric))])
          << model::to_string(metric);
    ++checked;
  });
  EXPECT_GT(checked, 10);
}

// One of a host that was live a minute ago must not be added to what is live now.
TEST_F(Dataset, TheLiveHeapIsThatOfTheLastWindowOfEachHost) {
  const auto live_heap = [](std::uint64_t minute, double bytes) {
    analysis::HandMadeHeap hand(model::HeapMode::kExact);
    hand.profile.meta.start_unix_ns = kBeginNs + minute * kMinuteNs;
    hand.profile.meta.end_ns = hand.profile.meta.start_ns + kMinuteNs;
    hand.profile.heap.heaps[0].process = hand.process(7, "server");
    hand.slice();
    hand.row(hand.site(hand.stack({hand.frame(hand.module("server"), {"Cache::put"})})), {1, bytes});
    return hand.profile;
  };
  write(live_heap(1, 300), "a");
  write(live_heap(0, 1000), "a");
  write(live_heap(0, 70), "b");
  const auto fetched = fetch();
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(total_in(fetched->profile, Metric::kHeapLive), 370);
  EXPECT_EQ(total_in(fetched->profile, Metric::kHeapAllocated), 1370);
  const auto earlier = fetch("", {std::nullopt, kBeginNs + kMinuteNs});
  ASSERT_TRUE(earlier) << earlier.error().message;
  EXPECT_EQ(total_in(earlier->profile, Metric::kHeapLive), 1070);
}

// The stack of who ended a wait may be in the file of an earlier window.
TEST_F(Dataset, WaitsKeepTheStackOfTheThreadThatEndedThem) {
  Profile profile = analysis::waiting_server();
  profile.meta.start_unix_ns = kBeginNs;
  Writer writer(folder_);
  ASSERT_TRUE(writer.send(profile, {"s", "h", "v"}));
  const auto fetched = fetch();
  ASSERT_TRUE(fetched) << fetched.error().message;
  const auto wakers = [](const Profile& of) {
    std::uint64_t ns = 0;
    for (const model::Wait& wait : of.waits)
      ns += wait.waker_stack.value != 0 ? wait.waited_ns * wait.weight : 0;
    return ns;
  };
  EXPECT_EQ(wakers(fetched->profile), wakers(profile));
  EXPECT_NE(wakers(profile), 0u);
}

TEST_F(Dataset, WritingTwiceChangesNothing) {
  const Profile profile = of_minute(1, 0);
  EXPECT_EQ(write(profile).parts, 1U);
  const auto before = files();
  EXPECT_EQ(before.size(), 2U);
  const push::Sent again = write(profile);
  EXPECT_EQ(again.parts, 0U);
  EXPECT_EQ(again.known_parts, 1U);
  EXPECT_EQ(files(), before);
}

TEST_F(Dataset, HostsAndMinutesAddUp) {
  const std::int64_t one = row_sums(of_minute(1, 0))["cpu"], two = row_sums(of_minute(2, 1))["cpu"];
  ASSERT_NE(one, 0);
  write(of_minute(1, 0), "a");
  write(of_minute(2, 1), "b", "w");
  write(of_minute(2, 1), "c");
  EXPECT_EQ(cpu_in(), one + 2 * two);
  EXPECT_EQ(cpu_in("host=a,b"), one + two);
  EXPECT_EQ(cpu_in("host=!a"), 2 * two);
  EXPECT_EQ(cpu_in("version=w"), two);
  EXPECT_EQ(cpu_in("", {kBeginNs + kMinuteNs, std::nullopt}), 2 * two);
  EXPECT_EQ(cpu_in("", {std::nullopt, kBeginNs + kMinuteNs}), one);
  clickhouse::Location location;
  EXPECT_THAT(hosts_in(folder_, location, {}).value(), ElementsAre("a", "b", "c"));
}

// Windows of a store become longer ones as they age, and are other recordings then.
TEST_F(Dataset, AStoreThatHasAgedIsNotWrittenTwice) {
  const auto send = [&](const Profile& profile) {
    const auto sent = Writer(folder_).send(profile, {"s", "h", "v", true});
    EXPECT_TRUE(sent) << sent.error().message;
    return sent ? *sent : push::Sent();
  };
  Profile both = addable(model::random_profile(1));
  both.waits.clear();
  both.meta.start_unix_ns = kBeginNs;
  both.meta.end_ns = both.meta.start_ns + 2 * kMinuteNs;
  for (std::size_t i = 0; i < both.samples.size(); ++i)
    both.samples[i].time_ns = both.meta.start_ns + (2 * i + 1) * kMinuteNs / both.samples.size();
  Profile first = both;
  first.meta.end_ns -= kMinuteNs;
  std::erase_if(first.samples,
                [&](const model::Sample& sample) { return sample.time_ns >= first.meta.end_ns; });
  EXPECT_EQ(send(first).parts, 1U);
  EXPECT_NE(cpu_in(), row_sums(both)["cpu"]);
  EXPECT_EQ(send(both).parts, 1U) << "the second minute alone";
  EXPECT_EQ(cpu_in(), row_sums(both)["cpu"]);
  EXPECT_EQ(send(both).parts, 0U);
  EXPECT_EQ(send(first).parts, 0U);
  EXPECT_EQ(cpu_in(), row_sums(both)["cpu"]);
  // Another host, and a recording that is of no store, are not the same.
  EXPECT_EQ(Writer(folder_).send(both, {"s", "other", "v", true})->parts, 2U);
  EXPECT_EQ(Writer(folder_).send(both, {"s", "h", "v"})->parts, 2U);
}

TEST_F(Dataset, WithoutATimeItIsTheLastHour) {
  write(of_minute(1, 0));
  write(of_minute(2, 90));
  const auto fetched = fetch();
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_THAT(fetched->notice, HasSubstr("using the last hour of s"));
  EXPECT_EQ(total_in(fetched->profile, Metric::kCpu), row_sums(of_minute(2, 90))["cpu"]);
}

TEST_F(Dataset, AWindowInTwoFilesCountsOnce) {
  write(of_minute(1, 0));
  for (const auto& [path, content] : files()) {
    std::ofstream(fs::path(path).replace_filename(
        "data_0" + std::string(path.ends_with(kStacksEnding) ? kStacksEnding : kSamplesEnding)))
        << content;
  }
  EXPECT_EQ(files().size(), 4U);
  EXPECT_EQ(cpu_in(), row_sums(of_minute(1, 0))["cpu"]);
}

TEST_F(Dataset, AStackThatIsMissingIsShownAndCounted) {
  write(of_minute(1, 0));
  for (const auto& [path, content] : files())
    if (path.ends_with(kStacksEnding)) fs::remove(path);
  const auto fetched = fetch();
  ASSERT_TRUE(fetched);
  EXPECT_EQ(total_in(fetched->profile, Metric::kCpu), row_sums(of_minute(1, 0))["cpu"]);
  EXPECT_THAT(fetched->profile.quality.notes,
              testing::Contains(HasSubstr("have a stack that the dataset does not have")));
}

TEST_F(Dataset, ADamagedFileIsNamed) {
  write(of_minute(1, 0));
  std::string damaged;
  for (const auto& [path, content] : files())
    if (path.ends_with(kSamplesEnding)) {
      damaged = path;
      std::ofstream(path) << content.substr(0, content.size() / 2);
    }
  const auto fetched = fetch();
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr(damaged));
}

TEST_F(Dataset, AnEmptyChoiceSaysWhatThereIs) {
  write(of_minute(1, 0));
  const auto fetched = fetch("service=other");
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(fetched.error().remedy, HasSubstr("services: s"));
}

TEST_F(Dataset, SeveralServicesAreNamed) {
  write(of_minute(1, 0));
  ASSERT_TRUE(Writer(folder_).send(of_minute(1, 0), {"t", "h", "v"}));
  const auto fetched = fetch();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(fetched.error().message, HasSubstr("several services: s, t"));
}

}  // namespace
}  // namespace fathom::dataset
