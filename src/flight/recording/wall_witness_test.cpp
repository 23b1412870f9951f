#include "flight/recording/wall_witness.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fathom::flight {
namespace {

TEST(WallWitness, NumberOfATracepointIsReadOrRefused) {
  EXPECT_EQ(parse_tracepoint_id("609\n"), 609U);
  EXPECT_EQ(parse_tracepoint_id(""), std::nullopt);
  EXPECT_EQ(parse_tracepoint_id("0\n"), std::nullopt);
  EXPECT_EQ(parse_tracepoint_id("sixty\n"), std::nullopt);
  EXPECT_EQ(parse_tracepoint_id("-3\n"), std::nullopt);
}

// Whoever may not open it is told why; whoever may has nothing to take while nothing dies for want of memory in his processes.
TEST(WallWitness, OpensOrSaysWhyNot) {
  auto witness = WallWitness::open();
  if (!witness) {
    EXPECT_FALSE(witness.error().message.empty());
    return;
  }
  for (const auto& sample : witness->take()) EXPECT_NE(sample.pid, ::getpid());
}

}  // namespace
}  // namespace fathom::flight
