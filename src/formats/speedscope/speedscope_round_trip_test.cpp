// What present/exports writes for speedscope, as this folder reads it, and as its schema demands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "analysis/core/hand_made_profile.h"
#include "formats/import/import_testing.h"
#include "formats/json/json.h"
#include "formats/speedscope/speedscope.h"
#include "model/random_profile.h"
#include "present/exports/speedscope_writer.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;

std::string write(const model::Profile& profile, std::vector<Metric> metrics = {},
                  std::size_t most_threads = 200) {
  return present::write_speedscope(profile, {.metrics = std::move(metrics), .most_threads = most_threads})
      .value();
}

// Weights next to their stacks, stacks of frames that are there, ends that are the sums.
void expect_sound(const Json& json) {
  const std::size_t frames = length_of(json["shared"]["frames"]);
  for (const Json& profile : json["profiles"]) {
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    std::int64_t sum = 0;
    for (const Json& weight : profile["weights"]) sum += weight.get<std::int64_t>();
    EXPECT_EQ(profile["endValue"].get<std::int64_t>(), sum);
    for (const Json& sample : profile["samples"])
      for (const Json& frame : sample) EXPECT_LT(frame.get<std::size_t>(), frames);
  }
}

TEST(SpeedscopeRoundTrip, EverySumOfTimeIsKept) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    for (const Metric metric : analysis::metrics_in(profile)) {
      if (model::is_heap(metric)) continue;
      SCOPED_TRACE(model::to_string(metric));
      const analysis::CallTree tree = analysis::build_call_tree(profile, {.selection = {.metric = metric}});
      const auto written = present::write_speedscope(profile, {.metrics = {metric}, .most_threads = 3});
      if (!written) {
        EXPECT_EQ(tree.total, 0);
        continue;
      }
      ASSERT_TRUE(is_speedscope(*written));
      expect_sound(parse_json(*written, "x").value());
      // The reader takes no more than a number of JSON can count.
      if (tree.total > std::int64_t{1} << 53) continue;
      const auto read = read_speedscope(*written, "x");
      ASSERT_TRUE(read) << read.error().message;
      const double period =
          tree.unit == "samples" && profile.meta.frequency_hz != 0 ? 1e9 / profile.meta.frequency_hz : 1;
      const double total = static_cast<double>(tree.total) * period;
      EXPECT_NEAR(static_cast<double>(total_of(*read, metric)), total, total < 9e15 ? 0.5 : total / 1e9);
    }
  });
}

TEST(SpeedscopeRoundTrip, OneProfileForEachThreadAndMetricAndOneOfAll) {
  model::Profile profile = analysis::small_server();
  profile.waits.push_back(wait_of(2'000'000'000, 700, 30));
  const std::string text = write(profile);
  std::vector<std::string> names;
  const Json json = parse_json(text, "x").value();
  for (const Json& one : json["profiles"])
    names.push_back(one["name"].get<std::string>() + " " + one["unit"].get<std::string>() + " " +
                    one["endValue"].dump());
  EXPECT_THAT(names,
              ElementsAre("all threads nanoseconds 9000000000", "server 10 nanoseconds 7000000000",
                          "worker-1 11 nanoseconds 2000000000", "all threads (off-CPU) nanoseconds 730",
                          "server 10 (off-CPU) nanoseconds 730"));
  const model::Profile read = read_speedscope(text, "x").value();
  EXPECT_EQ(total_of(read, Metric::kCpu), 9'000'000'000);
  EXPECT_EQ(total_of(read, Metric::kOffCpu), 730);
  EXPECT_THAT(stacks_of(read, Metric::kOffCpu),
              ElementsAre("server 10 (off-CPU);__libc_start_main;[run queue] 30",
                          "server 10 (off-CPU);__libc_start_main;[wait: unknown] 700"));
}

TEST(SpeedscopeRoundTrip, EqualFramesAreOne) {
  const Json json = parse_json(write(analysis::small_server()), "x").value();
  std::vector<std::string> names;
  for (const Json& frame : json["shared"]["frames"]) names.push_back(frame["name"].get<std::string>());
  EXPECT_EQ(names.size(), 10u);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(SpeedscopeRoundTrip, ThreadsBeyondTheLimitStandAsOne) {
  const std::string text = write(analysis::small_server(), {}, 1);
  const Json json = parse_json(text, "x").value();
  EXPECT_EQ(json["profiles"].back()["name"], "other threads");
  EXPECT_EQ(total_of(read_speedscope(text, "x").value(), Metric::kCpu), 9'000'000'000);
}

}  // namespace
}  // namespace fathom::formats
