#include "base/attempt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace fathom {
namespace {

TEST(AttemptInChild, ReturnsSuccess) {
  EXPECT_TRUE(attempt_in_child([] { return Result<>(); }));
}

TEST(AttemptInChild, ReturnsTheErrorWithItsKindAndRemedy) {
  const auto result =
      attempt_in_child([]() -> Result<> { return fail(ErrorKind::kPermission, "x: refused", "ask root"); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kPermission);
  EXPECT_EQ(result.error().message, "x: refused");
  EXPECT_EQ(result.error().remedy, "ask root");
}

TEST(AttemptInChild, ChangesNothingInTheCaller) {
  int value = 1;
  EXPECT_TRUE(attempt_in_child([&] {
    value = 2;
    return Result<>();
  }));
  EXPECT_EQ(value, 1);
}

TEST(AttemptInChild, AChildThatDiesIsAnError) {
  const auto result = attempt_in_child([] {
    ::raise(SIGKILL);
    return Result<>();
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the process that tried it ended without an answer");
}

TEST(AttemptInChild, ALongMessageArrivesWhole) {
  const std::string message(200'000, 'x');
  const auto result = attempt_in_child([&]() -> Result<> { return fail(ErrorKind::kSystem, message); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, message);
}

}  // namespace
}  // namespace fathom
