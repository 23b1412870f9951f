#include "model/fatal_signal.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

TEST(FatalSignal, IsReadAsItWasWritten) {
  const FatalSignal written{.signal = 11,
                            .code = 1,
                            .address = 8,
                            .stack_pointer = 0x7ffc'0000'1000,
                            .tid = 12,
                            .thread = "worker 1",
                            .frames = {{"shop::Table<int, char>::find(int)", "server", "src/table.h", 40},
                                       {"libx.so+0x1f40", "libx.so", "", 0}}};
  Facts facts;
  put_fatal_signal(10, written, facts);
  EXPECT_EQ(fatal_signal_of(10, facts), written);
  EXPECT_FALSE(fatal_signal_of(1, facts));
}

TEST(FatalSignal, NamesWithSeparatorsMakeNoFramesOfTheirOwn) {
  Facts facts;
  put_fatal_signal(10, {.signal = 6, .tid = 10, .frames = {{"a\nb\tc", "m", "f\n", 1}}}, facts);
  const auto read = fatal_signal_of(10, facts);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->frames, (std::vector<FatalSignal::Frame>{{"a?b?c", "m", "f?", 1}}));
}

TEST(FatalSignal, TextThatMakesNoSenseIsNone) {
  for (const char* text : {"", "\n", "11", "65 1 0 0 0 1 x\n", "-1 1 0 0 0 1 x\n", "11 1 x 0 0 1 y\n"})
    EXPECT_FALSE(fatal_signal_of(10, {{"end_stack.10", text}})) << text;
  const auto read = fatal_signal_of(10, {{"end_stack.10", "11 1 0 0 0 1 x\nmain\n\tm\tf\t1\ngood\tm\tf\t2"}});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->frames.size(), 1U);
  EXPECT_EQ(read->frames[0].function, "good");
}

TEST(FatalSignal, OfADeepStackTheInnermostFramesAreKept) {
  FatalSignal deep{.signal = 11, .tid = 1};
  for (int i = 0; i < 1000; ++i) deep.frames.push_back({"f" + std::to_string(i), "m", "", 0});
  Facts facts;
  put_fatal_signal(10, deep, facts);
  const auto read = fatal_signal_of(10, facts);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->frames.size(), kMostFatalFrames);
  EXPECT_EQ(read->frames[0].function, "f0");
}

}  // namespace
}  // namespace fathom::model
