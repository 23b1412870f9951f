#include "analysis/core/empty_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

std::string why(const Selection& selection) {
  const Error error = nothing_selected(small_server(), selection);
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_NE(error.remedy, "");
  return error.message;
}

TEST(EmptySelection, SaysWhichPartOfItFitsNothing) {
  EXPECT_EQ(why({.metric = model::Metric::kHeapLive}), "no samples of metric heap-live");
  EXPECT_EQ(why({.pid = 4711}), "process 4711 is not in the recording");
  EXPECT_EQ(why({.pid = 10}), "no samples of process 10 in this selection");
  EXPECT_EQ(why({.thread = "nobody"}), "no samples of thread 'nobody' in this selection");
  EXPECT_EQ(why({.from_ns = 1'000'000'000'000}), "no samples in this part of the recording");
}

}  // namespace
}  // namespace fathom::analysis
