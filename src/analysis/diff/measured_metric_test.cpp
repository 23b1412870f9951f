#include "analysis/diff/measured_metric.h"

#include <gtest/gtest.h>

#include "analysis/diff/measured_runs.h"
#include "analysis/heap/hand_made_heap.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

using model::Metric;

model::Profile with_waits() {
  model::Profile profile = measured_run({});
  profile.threads[0].ran_ns = 1;  // counted, even if no wait was long enough for a row
  return profile;
}

model::Profile imported() {
  model::Profile profile = measured_run({});
  profile.meta.engine = "import";
  return profile;
}

TEST(MeasuredMetric, ARecordingOfCpuTimeKnowsNoWaitsAndNoHeap) {
  const model::Profile profile = measured_run({});
  EXPECT_TRUE(is_measured(profile, Metric::kCpu));
  for (const Metric other : {Metric::kOffCpu, Metric::kWall, Metric::kHeapLive, Metric::kHeapAllocated})
    EXPECT_FALSE(is_measured(profile, other)) << model::to_string(other);
}

TEST(MeasuredMetric, AnIdleProgramWasMeasured) {
  model::Profile idle = with_waits();
  idle.samples.clear();
  for (const Metric metric : {Metric::kCpu, Metric::kOffCpu, Metric::kWall})
    EXPECT_TRUE(is_measured(idle, metric)) << model::to_string(metric);
}

TEST(MeasuredMetric, ARecordingOfWaitsAloneKnowsNoCpuTime) {
  model::Profile profile = with_waits();
  profile.samples.clear();
  profile.meta.frequency_hz = 0;
  EXPECT_FALSE(is_measured(profile, Metric::kCpu));
  EXPECT_TRUE(is_measured(profile, Metric::kOffCpu));
}

TEST(MeasuredMetric, AnImportedFileMeasuredWhatItHas) {
  model::Profile profile = imported();
  EXPECT_TRUE(is_measured(profile, Metric::kCpu));
  profile.samples.clear();
  EXPECT_FALSE(is_measured(profile, Metric::kCpu)) << "a rate alone is no measurement";
}

TEST(MeasuredMetric, AHeapProfileMeasuredWhatItCounts) {
  HandMadeHeap hand = small_heap();
  for (const Metric metric : {Metric::kHeapLive, Metric::kHeapLeaked, Metric::kHeapAllocated})
    EXPECT_TRUE(is_measured(hand.profile, metric)) << model::to_string(metric);
  model::put_facts(model::ImportFacts{.no_live = true}, hand.profile.meta);
  for (const Metric metric : {Metric::kHeapLive, Metric::kHeapPeak, Metric::kHeapGrowth, Metric::kHeapLeaked})
    EXPECT_FALSE(is_measured(hand.profile, metric)) << model::to_string(metric);
  EXPECT_TRUE(is_measured(hand.profile, Metric::kHeapAllocated));
}

}  // namespace
}  // namespace fathom::analysis
