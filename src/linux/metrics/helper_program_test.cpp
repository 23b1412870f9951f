#include "linux/metrics/helper_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "linux/metrics/host_addresses.h"

namespace fathom::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kHelperSecond = 1'000'000'000;

TEST(HelperProgram, GetsItsInputAndFileAndReturnsOutputMessagesAndStatus) {
  std::string out;
  const auto end =
      run_helper({{"sh", "-c", "cat; cat /proc/self/fd/3; echo first >&2; printf 'la\\001st\\n' >&2; exit 7"},
                  "from input,",
                  std::string(300'000, 'x')},
                 monotonic_ns() + 60 * kHelperSecond, -1, [&](std::string_view piece) {
                   out += piece;
                   return true;
                 });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(out, "from input," + std::string(300'000, 'x'));
  EXPECT_EQ(end->status, 7);
  EXPECT_EQ(end->messages, "first\nla?st");
}

TEST(HelperProgram, IsKilledAtTheDeadlineAndWhenItSaysTooMuch) {
  const auto late = run_helper({{"sleep", "600"}}, monotonic_ns() + kHelperSecond / 20, -1,
                               [](std::string_view) { return true; });
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("no answer in time"));
  const auto endless = run_helper({{"cat", "/dev/zero"}}, monotonic_ns() + 60 * kHelperSecond, -1,
                                  [](std::string_view) { return false; });
  ASSERT_TRUE(endless) << endless.error().message;
  EXPECT_EQ(endless->status, 128 + 9);
}

TEST(HelperProgram, AMissingProgramIsReportedAsMissing) {
  const auto end = run_helper({{"no-such-program-here"}}, monotonic_ns() + kHelperSecond, -1,
                              [](std::string_view) { return true; });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, ErrorKind::kNotFound);
}

TEST(HostAddresses, EachAddressOnceAndNothingElse) {
  EXPECT_THAT(addresses_in_getent(
                  "10.0.0.1       STREAM db\n10.0.0.1       DGRAM\n2001:db8::1  STREAM\nnonsense\n\n", 8123),
              ElementsAre(Address{"", "10.0.0.1", 8123}, Address{"", "2001:db8::1", 8123}));
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) + " STREAM\n";
  EXPECT_EQ(addresses_in_getent(many, 1).size(), 16U);
}

TEST(HostAddresses, NumericOnesNeedNoProgram) {
  EXPECT_THAT(addresses_of_host("localhost", 1, 0, -1).value(), ElementsAre(Address{"", "127.0.0.1", 1}));
  EXPECT_THAT(addresses_of_host("::1", 1, 0, -1).value(), ElementsAre(Address{"", "::1", 1}));
}

TEST(HostAddresses, AnUnknownNameIsReportedWithTheName) {
  const auto found = addresses_of_host("no-such-host.invalid", 1, monotonic_ns() + 60 * kHelperSecond, -1);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace fathom::metrics
