#include "model/stack_paths.h"

#include <gtest/gtest.h>

#include <random>

namespace fathom::model {
namespace {

// Stacks of few frames, so that many begin alike, as a Builder finds them call by call.
TEST(StackPaths, FindsTheSameStacksAsASearchFromTheRoot) {
  std::mt19937_64 random(1);
  Profile expected, found;
  Builder builder(expected);
  StackPaths paths(found.stacks);
  std::size_t asked = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::uint64_t> calls(random() % 12);
    StackId stack{0};
    for (std::uint64_t& call : calls) {
      call = random() % 5;
      stack = builder.stack(stack, FrameId{static_cast<std::uint32_t>(call)});
    }
    const auto row = paths.find_or_add_calls(calls, [&](std::size_t at) -> std::optional<FrameId> {
      ++asked;
      return FrameId{static_cast<std::uint32_t>(calls[at])};
    });
    ASSERT_EQ(row, stack) << "of " << i;
  }
  EXPECT_EQ(found.stacks, expected.stacks) << "also their order";
  EXPECT_EQ(asked, found.stacks.size() - 1) << "no known call is asked for";

  found.stacks.resize(1000);
  paths.find_again([](FrameId frame) { return frame.value; });
  Profile again;
  again.stacks = found.stacks;
  Builder other(again);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::uint64_t> calls(random() % 12);
    StackId stack{0};
    for (std::uint64_t& call : calls) {
      call = random() % 5;
      stack = other.stack(stack, FrameId{static_cast<std::uint32_t>(call)});
    }
    ASSERT_EQ(paths.find_or_add_calls(calls,
                                      [&](std::size_t at) -> std::optional<FrameId> {
                                        return FrameId{static_cast<std::uint32_t>(calls[at])};
                                      }),
              stack);
  }
}

TEST(StackPaths, AFrameThatIsRefusedEndsTheSearchAndKeepsWhatIsAboveIt) {
  std::vector<Stack> stacks(1);
  StackPaths paths(stacks);
  const std::vector<std::uint64_t> calls{1, 2, 3};
  const auto refuse = [](std::size_t at) { return at == 2 ? std::nullopt : std::optional(FrameId{9}); };
  EXPECT_EQ(paths.find_or_add_calls(calls, refuse), std::nullopt);
  EXPECT_EQ(stacks.size(), 3u);
  EXPECT_EQ(paths.find_or_add_calls(std::span(calls).first(2), refuse), StackId{2});
  EXPECT_EQ(stacks.size(), 3u);
}

}  // namespace
}  // namespace fathom::model
