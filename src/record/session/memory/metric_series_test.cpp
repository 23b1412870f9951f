#include "record/session/memory/metric_series.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

metrics::Scrape scrape_at(std::uint64_t time_ns, double value) {
  metrics::Scrape scrape;
  scrape.time_ns = time_ns;
  scrape.values = {{"a_total", true, "count", value}, {"b_bytes{k=\"v\"}", false, "bytes", 2 * value}};
  return scrape;
}

TEST(MetricSeries, AreAddedToTheProfileOnItsClock) {
  model::Profile profile;
  MetricSeries series(profile);
  series.add(scrape_at(5, 1), 7);
  series.add(scrape_at(5, 100), 7);  // the same one again
  series.add(scrape_at(9, 3), 7);
  ASSERT_EQ(profile.series.size(), 2U);
  EXPECT_EQ(profile.strings[profile.series[0].name], "metric.b_bytes{k=\"v\"}")
      << "what speaks of memory comes first";
  EXPECT_EQ(profile.strings[profile.series[0].unit], "bytes");
  EXPECT_EQ(profile.strings[profile.series[1].unit], "count, counted");
  EXPECT_EQ(profile.series[0].pid, 7);
  EXPECT_EQ(profile.series[0].points, (std::vector<model::Point>{{5, 2}, {9, 6}}));
}

TEST(MetricSeries, AFailedScrapeAddsNothingAndTheNextGoesOn) {
  model::Profile profile;
  MetricSeries series(profile);
  metrics::Scrape failed;
  failed.time_ns = 3;
  failed.problem = "no answer";
  series.add(failed, 7);
  EXPECT_TRUE(profile.series.empty());
  series.add(scrape_at(5, 1), 7);
  failed.time_ns = 6;
  series.add(failed, 7);
  series.add(scrape_at(9, 3), 7);
  EXPECT_EQ(profile.series[0].points.size(), 2U);
}

TEST(MetricSeries, AreBoundedAndWhatIsLeftOutIsCounted) {
  model::Profile profile;
  MetricSeries series(profile);
  metrics::Scrape scrape;
  scrape.time_ns = 1;
  for (int i = 0; i < 1000; ++i) scrape.values.push_back({"other_" + std::to_string(i), false, "count", 1});
  scrape.values.push_back({"reth_jemalloc_allocated", false, "count", 1});
  series.add(scrape, 7);
  EXPECT_EQ(profile.series.size(), MetricSeries::kMostSeries);
  EXPECT_EQ(series.left_out(), 1001 - MetricSeries::kMostSeries);
  EXPECT_EQ(profile.strings[profile.series[0].name], "metric.reth_jemalloc_allocated");
  scrape.time_ns = 2;
  scrape.values.insert(scrape.values.begin(), {"new_bytes", false, "bytes", 1});
  series.add(scrape, 7);
  EXPECT_EQ(profile.series.size(), MetricSeries::kMostSeries) << "what comes later has no place";
}

TEST(MetricSeries, PointsThatWereWrittenCanBeCleared) {
  model::Profile profile;
  MetricSeries series(profile);
  series.add(scrape_at(5, 1), 7);
  for (model::Series& row : profile.series) row.points.clear();
  series.add(scrape_at(6, 2), 7);
  EXPECT_EQ(profile.series[0].points.size(), 1U);
}

}  // namespace
}  // namespace fathom::session
