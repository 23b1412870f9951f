#include "tools/limit/bisection.h"

#include <gtest/gtest.h>

#include <functional>

namespace fathom::limit {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

struct Searched {
  std::optional<std::uint64_t> smallest;
  int tries = 0;
};

// `peak_of`: what a run that works uses under a limit.
Searched search(std::uint64_t largest, std::uint64_t resolution,
                const std::function<bool(std::uint64_t)>& works,
                const std::function<std::uint64_t(std::uint64_t)>& peak_of, int repeats = 3) {
  Bisection bisection(largest, resolution, kPage, repeats);
  Searched out;
  for (; const auto limit = bisection.next(); ++out.tries) {
    EXPECT_EQ(*limit % kPage, 0U);
    EXPECT_LE(*limit, largest);
    if (out.tries > 10'000) {
      ADD_FAILURE() << "it does not end";
      break;
    }
    bisection.tried(works(*limit), peak_of(*limit));
  }
  out.smallest = bisection.smallest();
  return out;
}

TEST(Bisection, FindsTheSmallestLimitToItsResolution) {
  for (const std::uint64_t need : {kMebibyte, 300 * kMebibyte + 5 * kPage, 999 * kMebibyte}) {
    const Searched found = search(
        1024 * kMebibyte, 64 * kPage, [&](std::uint64_t limit) { return limit >= need; },
        [&](std::uint64_t) { return need; });
    ASSERT_TRUE(found.smallest);
    EXPECT_GE(*found.smallest, need);
    EXPECT_LE(*found.smallest, need + 64 * kPage);
  }
}

TEST(Bisection, PeakOfAFreeRunSavesMostOfTheTries) {
  const std::uint64_t need = 300 * kMebibyte;
  const auto works = [&](std::uint64_t limit) { return limit >= need; };
  const Searched with_peak =
      search(64 * 1024 * kMebibyte, 64 * kPage, works, [&](std::uint64_t) { return need; });
  const Searched without =
      search(64 * 1024 * kMebibyte, 64 * kPage, works, [](std::uint64_t limit) { return limit; });
  EXPECT_LT(with_peak.tries, without.tries);
  EXPECT_LE(with_peak.tries, 8) << "the largest, the peak, just below it, and three repetitions";
}

TEST(Bisection, CacheThatFillsAnyLimitMisleadsItNot) {
  const std::uint64_t need = 40 * kMebibyte;
  const Searched found = search(
      512 * kMebibyte, kMebibyte, [&](std::uint64_t limit) { return limit >= need; },
      [](std::uint64_t limit) { return limit; });
  EXPECT_GE(*found.smallest, need);
  EXPECT_LE(*found.smallest, need + kMebibyte);
}

TEST(Bisection, LargestThatDoesNotWorkEndsIt) {
  const Searched found = search(
      64 * kMebibyte, kMebibyte, [](std::uint64_t) { return false; },
      [](std::uint64_t limit) { return limit; });
  EXPECT_FALSE(found.smallest);
  EXPECT_EQ(found.tries, 1);
}

TEST(Bisection, LimitThatWorkedByLuckIsGivenUp) {
  const std::uint64_t lucky = 100 * kMebibyte;
  int lucky_tries = 0;
  // Up to 100 MiB it works once, above it always.
  const Searched found = search(
      512 * kMebibyte, kMebibyte,
      [&](std::uint64_t limit) { return limit > lucky || (limit > 90 * kMebibyte && lucky_tries++ < 1); },
      [&](std::uint64_t) { return lucky; });
  ASSERT_TRUE(found.smallest);
  EXPECT_GT(*found.smallest, lucky);
  EXPECT_LE(*found.smallest, lucky + 2 * kMebibyte);
}

TEST(Bisection, CommandThatNeverWorksTwiceHasNoSmallestLimit) {
  int tries = 0;
  const Searched found = search(
      64 * kMebibyte, kMebibyte, [&](std::uint64_t) { return tries++ == 0; },
      [](std::uint64_t limit) { return limit; });
  EXPECT_FALSE(found.smallest);
}

TEST(Bisection, WithoutRepetitionsEndsAtTheResolution) {
  const Searched found = search(
      2 * kPage, kPage, [](std::uint64_t) { return true; }, [](std::uint64_t limit) { return limit; }, 0);
  EXPECT_EQ(found.smallest, kPage);
}

}  // namespace
}  // namespace fathom::limit
