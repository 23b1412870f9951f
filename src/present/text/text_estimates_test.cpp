#include "present/text/text_estimates.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

// An amount whose half interval is `error`.
analysis::HeapAmount amount(double value, double error) {
  analysis::HeapAmount unit{0, 1};
  return {value, (error / unit.error()) * (error / unit.error())};
}

TEST(Estimates, HaveNoMoreDigitsThanTheirError) {
  EXPECT_EQ(count_cell(amount(1'750'453, 58'000)), "1,750,000");
  EXPECT_EQ(count_cell(amount(61'234, 310)), "61,200");
  EXPECT_EQ(count_cells(amount(61'234, 310)).error, "±400");
  EXPECT_EQ(count_cell({1'750'453, 0}), "1,750,453") << "exact";
  EXPECT_EQ(count_cells({1'750'453, 0}).error, "");
}

TEST(Estimates, OfBytesHaveTheDigitsOfTheirUnit) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
  EXPECT_EQ(bytes_cells(amount(976.6 * kKiB, 60 * kKiB)).value, "980 KiB");
  EXPECT_EQ(bytes_cells(amount(14.32 * kMiB, 3 * kMiB)).value, "14 MiB");
  EXPECT_EQ(bytes_cells(amount(14.32 * kMiB, 0.3 * kMiB)).value, "14.3 MiB");
  EXPECT_EQ(bytes_cells(amount(-14.32 * kMiB, 3 * kMiB)).value, "-14 MiB");
  EXPECT_EQ(bytes_cells(amount(1010 * kKiB, 300 * kKiB)).value, "1000 KiB");
  EXPECT_EQ(bytes_cells({14.32 * kMiB, 0}).value, "14.3 MiB") << "exact";
}

TEST(Estimates, ThatMayBeNothingAreBounds) {
  EXPECT_EQ(count_cells(amount(3'198, 3'276)).value, "≤ 8,000");
  EXPECT_EQ(count_cells(amount(3'198, 3'276)).error, "");
  EXPECT_EQ(bytes_cells(amount(1024, 2048)).value, "≤ 3.0 KiB");
  EXPECT_EQ(bytes_cells(amount(8192, 2048)).value, "8 KiB");
  EXPECT_EQ(bytes_cells(amount(8192, 2048)).error, "±2.1 KiB")
      << "of few samples an interval is wider than 1.96 deviations";
  EXPECT_EQ(bytes_cells({0, 0}).value, "0 bytes");
}

}  // namespace
}  // namespace fathom::present
