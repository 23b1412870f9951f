#include "cli/allocation_rate.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

TEST(AllocationRate, OfANumberIsMegabytes) {
  EXPECT_EQ(allocation_rate("100").value(), 100e6);
  EXPECT_EQ(allocation_rate("0.5").value(), 0.5e6);
  for (const char* wrong : {"0", "-1", "inf", "nan"}) {
    const auto rate = allocation_rate(wrong);
    ASSERT_FALSE(rate) << wrong;
    EXPECT_EQ(rate.error().kind, ErrorKind::kUsage);
  }
}

TEST(AllocationRate, OfAFileThatIsNotThereIsAnError) {
  EXPECT_EQ(allocation_rate("/nowhere/x.fathom").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::cli
