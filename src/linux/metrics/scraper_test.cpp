#include "linux/metrics/scraper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "linux/metrics/listener.h"
#include "linux/metrics/server.h"

namespace fathom::metrics {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;

std::vector<Family> families(double value) {
  return {{"x", Type::kGauge, "", "An x.", {{"x", {}, value}}}};
}

TEST(ValuesOf, AreNumbersThatMeanSomethingByThemselves) {
  const auto values =
      values_of(read_text("# TYPE a_bytes gauge\na_bytes{k=\"v\\\"w\"} 1\na_bytes{k=\"x\"} NaN\n"
                          "# TYPE b counter\nb_total 2\nb_created 3\n"
                          "# TYPE h histogram\nh_bucket{le=\"1\"} 4\nh_count 5\n"
                          "c_seconds 6\nc_seconds 7\n"));
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0].name, "a_bytes{k=\"v\\\"w\"}");
  EXPECT_EQ(values[0].unit, "bytes");
  EXPECT_FALSE(values[0].is_counter);
  EXPECT_EQ(values[1].name, "b_total");
  EXPECT_TRUE(values[1].is_counter);
  EXPECT_EQ(values[2].name, "c_seconds");
  EXPECT_EQ(values[2].unit, "seconds");
  EXPECT_EQ(values[2].value, 6) << "the first one of a name that is there twice";
}

TEST(ValuesOf, AreNotMoreThanAskedFor) {
  EXPECT_EQ(values_of(read_text("a 1\nb 2\nc 3\n"), 2).size(), 2U);
}

TEST(Scraper, ReadsAgainAndAgain) {
  auto server = std::move(*Server::open({{"", "127.0.0.1", 0}, ""}));
  server->publish(families(1));
  const auto scraper =
      std::move(*Scraper::start({{server->address(), "/metrics", "test"}, 1'000'000, 0, 60 * kSecond}));
  const auto first = scraper->first();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->problem, "");
  ASSERT_EQ(first->values.size(), 1U);
  EXPECT_EQ(first->values[0].value, 1);
  server->publish(families(2));
  const std::uint64_t until = monotonic_ns() + 60 * kSecond;
  while (scraper->newest()->values[0].value != 2 && monotonic_ns() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(scraper->newest()->values[0].value, 2);
  EXPECT_GT(scraper->newest()->time_ns, first->time_ns);
}

TEST(Scraper, SaysWhyThereIsNothing) {
  auto server = std::move(*Server::open({{"", "127.0.0.1", 0}, ""}));
  const auto scraper =
      std::move(*Scraper::start({{server->address(), "/other", "test"}, 3600 * kSecond, 0, 60 * kSecond}));
  EXPECT_THAT(scraper->first()->problem, HasSubstr("status 404"));
}

TEST(Scraper, EndsAtOnceThoughTheServerSaysNothing) {
  const auto listener = std::move(*Listener::open({"", "127.0.0.1", 0}));  // never accepted
  auto scraper =
      std::move(*Scraper::start({{listener.address(), "/metrics", "test"}, kSecond, 0, 3600 * kSecond}));
  EXPECT_EQ(scraper->newest(), nullptr);
  scraper.reset();  // does not wait for an hour
}

}  // namespace
}  // namespace fathom::metrics
