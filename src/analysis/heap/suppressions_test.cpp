#include "analysis/heap/suppressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

// One stack of two frames, one of them inlined, with files.
struct HandMadeLeak : HandMade {
  model::StackId stack;
  HandMadeLeak() {
    const auto app = module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
    const auto main = builder.frame_with_lines(app, {0x10}, {{"main", "/src/main.cpp", 3}});
    const auto leaf = builder.frame_with_lines(
        app, {0x20},
        {{"operator new(unsigned long)", "", 0}, {"alloc$u20$::Cache::put(int)", "/src/cache/cache.cpp", 7}});
    stack = builder.stack(builder.stack({0}, main), leaf);
  }
};

bool suppresses(const std::string& pattern) {
  const HandMadeLeak hand;
  const auto rows = parse_suppressions("leak:" + pattern, "x").value();
  return Suppressed(hand.profile, rows).by(hand.stack).has_value();
}

TEST(Suppressions, AreFoundAnywhereInFunctionFileAndModule) {
  for (const char* pattern : {"Cache", "Cache::put", "main.cpp", "/cache/", "server", "operator new", "a"})
    EXPECT_TRUE(suppresses(pattern)) << pattern;
  for (const char* pattern : {"cache::put", "main.c$", "serverx"})
    EXPECT_FALSE(suppresses(pattern)) << pattern;
}

TEST(Suppressions, KnowStarsAndAnchors) {
  for (const char* pattern : {"*", "^main$", "^/src/*.cpp$", "put(*)", "^alloc*::put", "ma*in", "serv*$",
                              "main$", "$u20", "u20$::Cache", "(int)$"})
    EXPECT_TRUE(suppresses(pattern)) << pattern;
  for (const char* pattern : {"^Cache", "Cache$", "^ain", "mai$", "^main.cp$", "put*main"})
    EXPECT_FALSE(suppresses(pattern)) << pattern;
}

TEST(Suppressions, TheFirstThatMatchesAnyFrameTakesTheStack) {
  const HandMadeLeak hand;
  const auto rows = parse_suppressions("leak:nothing\nleak:^main$\nleak:Cache\n", "x").value();
  EXPECT_EQ(Suppressed(hand.profile, rows).by(hand.stack), 1u);
  EXPECT_EQ(Suppressed(hand.profile, rows).by({0}), std::nullopt);
}

TEST(Suppressions, FilesHaveCommentsBlanksAndWindowsLineEnds) {
  const auto rows = parse_suppressions("# known\r\n\r\n  leak: foo*bar \r\n\tleak:^b$\n#leak:c", "x").value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].pattern, "foo*bar");
  EXPECT_EQ(rows[0].line, 3u);
  EXPECT_EQ(rows[1].glob, "b");
}

TEST(Suppressions, WhatIsNotUnderstoodIsAnErrorWithItsLine) {
  const auto message = [](const char* text) {
    const auto rows = parse_suppressions(text, "my.supp");
    return rows ? std::string("none") : rows.error().message;
  };
  EXPECT_EQ(message("leak:a\nrace:b\n"), "my.supp:2: there is no kind 'race' here");
  EXPECT_EQ(message("leak:a\n\n{\n"), "my.supp:3: '{' is not a suppression");
  for (const char* empty : {"leak:", "leak:  ", "leak:^", "leak:$"})
    EXPECT_THAT(message(empty), HasSubstr("no pattern")) << empty;
}

TEST(Suppressions, TheBuiltInOnesAreWellFormedAndSparePrograms) {
  const auto rows = parse_suppressions(kLeakSuppressionsText, "built in");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(built_in_suppressions().size(), rows->size());
  EXPECT_GT(rows->size(), 10u);
  HandMadeLeak hand;
  EXPECT_EQ(Suppressed(hand.profile, built_in_suppressions()).by(hand.stack), std::nullopt);
  const auto libc = hand.module("libc.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto puts = hand.builder.named_frame("__GI__IO_file_doallocate", libc);
  const auto stack = hand.builder.stack(hand.stack, puts);
  EXPECT_TRUE(Suppressed(hand.profile, built_in_suppressions()).by(stack));
}

}  // namespace
}  // namespace fathom::analysis
