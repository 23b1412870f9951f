#include "formats/speedscope/speedscope.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/import/import_testing.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;
using testing::HasSubstr;

std::string file_of(std::string_view profiles) {
  return fmt::format(
      R"({{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {{"frames": [
    {{"name": "main", "file": "a.c", "line": 3}}, {{"name": "run"}}, {{"name": "parse"}}]}}, "profiles": [{}]}})",
      profiles);
}
constexpr std::string_view kSampled =
    R"({"type": "sampled", "name": "worker", "unit": "milliseconds", "startValue": 0, "endValue": 80.5,
        "samples": [[0, 1, 2], [0, 1], [0]], "weights": [50, 30, 0.5]})";
constexpr std::string_view kEvented =
    R"({"type": "evented", "name": "main", "unit": "seconds", "startValue": 1, "endValue": 4, "events": [
        {"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2}, {"type": "C", "frame": 1, "at": 2.5},
        {"type": "C", "frame": 0, "at": 4}]})";
constexpr std::string_view kBytes =
    R"({"type": "sampled", "name": "live", "unit": "bytes", "samples": [[0, 1], [2]], "weights": [4096, 100]})";

TEST(Speedscope, WeightsAreTimes) {
  ASSERT_TRUE(is_speedscope(file_of(kSampled)));
  const model::Profile profile = read_speedscope(file_of(kSampled), "x").value();
  EXPECT_THAT(stacks_of(profile), ElementsAre("worker;main 500000", "worker;main;run 30000000",
                                              "worker;main;run;parse 50000000"));
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "ns");
  EXPECT_EQ(profile.lines[0].line, 3u);
}

TEST(Speedscope, BetweenEventsTimeBelongsToWhatIsOpen) {
  EXPECT_THAT(stacks_of(read_speedscope(file_of(kEvented), "x").value()),
              ElementsAre("main;main 2500000000", "main;main;run 500000000"));
}

TEST(Speedscope, ProfilesAreThreadsAndTheirSumIsNone) {
  std::string sum(kSampled);
  sum.replace(sum.find("worker"), 6, "all threads");
  const model::Profile profile =
      read_speedscope(file_of(fmt::format("{}, {}, {}, {}", sum, kSampled, kEvented, kBytes)), "x").value();
  EXPECT_EQ(profile.threads.size(), 2u);
  EXPECT_EQ(total_of(profile, Metric::kCpu), 80'500'000 + 3'000'000'000);
  EXPECT_THAT(profile.quality.notes, ElementsAre(HasSubstr("left out: all threads, live.")));
  EXPECT_EQ(total_of(read_speedscope(file_of(sum), "x").value(), Metric::kCpu), 80'500'000)
      << "alone it is all";
}

TEST(Speedscope, BytesAreAHeap) {
  const model::Profile profile = read_speedscope(file_of(kBytes), "x").value();
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("live;main;run 4096", "live;parse 100"));
}

TEST(Speedscope, DamageIsSaid) {
  const auto refusal = [](std::string_view profile) {
    const auto read = read_speedscope(file_of(profile), "x");
    return read ? "read" : read.error().message;
  };
  EXPECT_THAT(refusal(""), HasSubstr("no profiles in it"));
  EXPECT_THAT(refusal(R"({"type": "sampled", "unit": "none", "samples": [[7]]})"),
              HasSubstr("a sample refers to a missing frame"));
  EXPECT_THAT(refusal(R"({"type": "sampled", "unit": "none", "samples": [[0]], "weights": [-1]})"),
              HasSubstr("an amount that is none"));
  EXPECT_THAT(
      refusal(R"({"type": "evented", "unit": "none", "events": [{"type": "C", "frame": 0, "at": 1}]})"),
      HasSubstr("event 1 closes a frame that is not open"));
  EXPECT_THAT(refusal(R"({"type": "evented", "unit": "none", "events": [{"type": "O", "frame": 0, "at": 5},
                          {"type": "C", "frame": 0, "at": 1}]})"),
              HasSubstr("event 2 goes back in time"));
}

}  // namespace
}  // namespace fathom::formats
