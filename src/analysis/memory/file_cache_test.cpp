#include "analysis/memory/file_cache.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/file_series.h"

namespace fathom::analysis {
namespace {

class Caches : public testing::Test {
 protected:
  void add(std::string_view kind, std::string_view path, std::int32_t pid, std::vector<double> values) {
    model::Series series;
    series.name = profile_.strings.intern(model::file_series_name(kind, path));
    series.unit = profile_.strings.intern("bytes");
    series.pid = pid;
    for (std::size_t i = 0; i < values.size(); ++i) series.points.push_back({100 * (i + 1), values[i]});
    profile_.series.push_back(std::move(series));
  }
  model::Profile profile_;
};

TEST_F(Caches, AreReportedAtTheEndOfTheSelection) {
  add("size", "/db", 7, {50, 60, 70});
  add("cached", "/db", 7, {10, 40, 20});
  add("evicted", "/db", 7, {0, 0, 15});
  add("cached", "/small", 7, {5, 5, 5});
  const auto rows = recorded_file_caches(profile_, std::nullopt, UINT64_MAX);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].path, "/db") << "most cached first";
  EXPECT_EQ(rows[0].size, 70);
  EXPECT_EQ(rows[0].cached, 20);
  EXPECT_EQ(rows[0].cached_first, 10);
  EXPECT_EQ(rows[0].cached_most, 40);
  EXPECT_EQ(rows[0].evicted, 15);
  EXPECT_FALSE(rows[0].dirty) << "the kernel did not tell";
  const auto before = recorded_file_caches(profile_, std::nullopt, 200);
  EXPECT_EQ(before[0].cached, 40);
  EXPECT_EQ(before[0].evicted, 0);
}

TEST_F(Caches, AFileThatTwoProcessesMapAppearsOnce) {
  add("cached", "/db", 7, {10});
  add("cached", "/db", 8, {11});
  EXPECT_EQ(recorded_file_caches(profile_, std::nullopt, UINT64_MAX).size(), 1u);
  const auto of_second = recorded_file_caches(profile_, 8, UINT64_MAX);
  ASSERT_EQ(of_second.size(), 1u);
  EXPECT_EQ(of_second[0].cached, 11);
  EXPECT_TRUE(recorded_file_caches(profile_, 9, UINT64_MAX).empty());
}

TEST_F(Caches, NumbersThatMakeNoSenseAreLeftOut) {
  add("cached", "/db", 7, {-1, NAN, INFINITY, 4});
  add("cached", "/none", 7, {NAN});
  const auto rows = recorded_file_caches(profile_, std::nullopt, UINT64_MAX);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].cached, 4);
}

}  // namespace
}  // namespace fathom::analysis
