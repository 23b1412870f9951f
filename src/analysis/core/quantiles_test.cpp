#include "analysis/core/quantiles.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

TEST(Quantiles, AgreeWithPublishedTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(normal_quantile(0.8), 0.841621, 1e-6);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(chi_squared_quantile(0.95, 10), 18.307038, 1e-5);
  EXPECT_NEAR(chi_squared_quantile(0.95, 1), 3.841459, 1e-5);
  EXPECT_NEAR(gamma_quantile(0.025, 10), 4.795389, 1e-5);         // a count of 10: 4.80 ..
  EXPECT_NEAR(gamma_upper_quantile(0.025, 11), 18.390356, 1e-5);  // .. to 18.39
  EXPECT_NEAR(students_t_upper_quantile(0.025, 1), 12.706205, 1e-5);
  EXPECT_NEAR(students_t_upper_quantile(0.025, 10), 2.228139, 1e-5);
  EXPECT_NEAR(students_t_upper_quantile(0.025, 1e6), 1.959966, 1e-5);
  EXPECT_NEAR(students_t_tail(2.228139, 10), 0.025, 1e-7);
  EXPECT_NEAR(students_t_tail(0, 3), 0.5, 1e-12);
}

TEST(Quantiles, AreTheInverseOfTheTail) {
  for (const double freedom : {1.0, 1.5, 4.0, 30.0, 1e4, 1e6})
    for (const double tail : {1e-9, 1e-4, 0.025, 0.2, 0.5})
      EXPECT_NEAR(students_t_tail(students_t_upper_quantile(tail, freedom), freedom) / tail, 1, 1e-6)
          << freedom << " " << tail;
}

TEST(Quantiles, OfLargeCountsComeNearTheNormalDistribution) {
  EXPECT_NEAR((gamma_quantile(0.025, 1e9) - 1e9) / 31622.7766, -1.96, 0.001);
  EXPECT_NEAR((gamma_upper_quantile(0.025, 1e9) - 1e9) / 31622.7766, 1.96, 0.001);
}

}  // namespace
}  // namespace fathom::analysis
