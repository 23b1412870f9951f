#include "tools/flight/recording/wall_witness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

namespace fathom::flight {
namespace {

TEST(WallWitness, NumberOfATracepointIsReadOrRefused) {
  EXPECT_EQ(parse_tracepoint_id("609\n"), 609U);
  EXPECT_EQ(parse_tracepoint_id(""), std::nullopt);
  EXPECT_EQ(parse_tracepoint_id("0\n"), std::nullopt);
  EXPECT_EQ(parse_tracepoint_id("sixty\n"), std::nullopt);
  EXPECT_EQ(parse_tracepoint_id("-3\n"), std::nullopt);
}

// Also if tracefs is not mounted: a container, or a machine whose init does not.
TEST(WallWitness, RootOpensIt) {
  std::ifstream status("/proc/self/status");
  const std::string text((std::istreambuf_iterator<char>(status)), {});
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
  const std::size_t at = text.find("CapEff:");
  if (at == std::string::npos || (std::stoull(text.substr(at + 7), nullptr, 16) & kSysAdmin) == 0)
    GTEST_SKIP() << "needs root (CAP_SYS_ADMIN)";
  const auto witness = WallWitness::open();
  EXPECT_TRUE(witness) << witness.error().message;
}

// A user who may not open it gets the reason; one who may gets no events while no process of theirs is
// OOM-killed.
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
