#include "base/arch/common/function_ends.h"

#include <gtest/gtest.h>

#include "base/arch/kernel_registers.h"

namespace fathom::arch {
namespace {

using Code = std::vector<std::byte>;

Code bytes(std::initializer_list<int> values) {
  Code out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

FunctionEnds ends_of(const Code& code, const Code& cold = {}) {
  std::vector<CodePart> parts = {{code, 0x1000}};
  if (!cold.empty()) parts.push_back({cold, 0x500});
  return function_ends(parts);
}

TEST(FunctionEnds, AreItsReturns) {
  // test edi, edi; jne +1; ret; ret 8
  const auto found = ends_of(bytes({0x85, 0xff, 0x75, 0x01, 0xc3, 0xc2, 0x08, 0x00}));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.ends, (std::vector<FunctionEnd>{{0x1004, true}, {0x1005, true}}));
  EXPECT_FALSE(found.restarts);
}

TEST(FunctionEnds, AreJumpsIntoOtherFunctionsWithTheirConditions) {
  // je 0x2000; jmp 0x2000; jmp *slot(%rip)
  const auto found = ends_of(
      bytes({0x0f, 0x84, 0xfa, 0x0f, 0x00, 0x00, 0xe9, 0xf5, 0x0f, 0x00, 0x00, 0xff, 0x25, 0, 0, 0, 0}));
  ASSERT_EQ(found.ends.size(), 3U) << found.problem;
  EXPECT_EQ(found.ends[0], (FunctionEnd{0x1000, false, 4, true, 0x2000}));
  EXPECT_EQ(found.ends[1], (FunctionEnd{.address = 0x1006, .target = 0x2000}));
  EXPECT_EQ(found.ends[2], (FunctionEnd{.address = 0x100b}));
}

TEST(FunctionEnds, ThePieceThatWasPutElsewhereIsPartOfTheFunction) {
  // jne 0x500; ret    and there: nop; jmp 0x1006
  const auto found =
      ends_of(bytes({0x0f, 0x85, 0xfa, 0xf4, 0xff, 0xff, 0xc3}), bytes({0x90, 0xe9, 0x00, 0x0b, 0x00, 0x00}));
  EXPECT_EQ(found.ends, (std::vector<FunctionEnd>{{0x1006, true}})) << found.problem;
}

TEST(FunctionEnds, AJumpToItsOwnStartIsACallOfIt) {
  // dec edi; jne 0x1000; ret
  const auto found = ends_of(bytes({0xff, 0xcf, 0x75, 0xfc, 0xc3}));
  EXPECT_TRUE(found.restarts);
  EXPECT_EQ(found.ends, (std::vector<FunctionEnd>{{0x1002, false, 5, true, 0x1000}, {0x1004, true}}));
}

TEST(FunctionEnds, JumpsThroughRegistersStayOpenAndThoseOfTablesDoNot) {
  // jmp rax; notrack jmp rax; jmp [rax+8]; jmp [rax*8+0]; ret
  const auto found =
      ends_of(bytes({0xff, 0xe0, 0x3e, 0xff, 0xe0, 0xff, 0x60, 0x08, 0xff, 0x24, 0xc5, 0, 0, 0, 0, 0xc3}));
  EXPECT_EQ(found.open_jumps, (std::vector<FunctionEnds::OpenJump>{{0x1000, false}, {0x1005, true}}))
      << found.problem;
  EXPECT_EQ(found.ends, (std::vector<FunctionEnd>{{0x100f, true}}));
}

TEST(FunctionEnds, AreNotLookedForInWhatIsNoCode) {
  EXPECT_NE(ends_of(bytes({0x06, 0xc3})).problem, "");                             // no instruction
  EXPECT_NE(ends_of(bytes({0xeb, 0x01, 0xb8, 0xc3, 0, 0, 0, 0xc3})).problem, "");  // into the middle of one
  EXPECT_NE(ends_of(bytes({0xeb, 0xfe})).ends.size(), 0U);  // a jump to itself is a round of its own
  EXPECT_NE(ends_of(bytes({0xf4})).problem, "");            // hlt: never left
  EXPECT_NE(ends_of({}).problem, "");
  EXPECT_NE(ends_of(bytes({0xe3, 0x10, 0xc3})).problem, "");  // jrcxz out of it
}

// Every condition against what the processor itself makes of the flags.
TEST(FunctionEnds, ConditionsAreThoseOfTheProcessor) {
  constexpr unsigned long kBits[] = {1, 1 << 2, 1 << 6, 1 << 7, 1 << 11};
  for (unsigned some = 0; some < 32; ++some) {
    unsigned long flags = 0;
    for (unsigned i = 0; i < 5; ++i)
      if (some >> i & 1) flags |= kBits[i];
    unsigned char taken[16];
// Not where the compiler keeps locals below the stack pointer.
#define SET(number, name)                                                                       \
  asm volatile("lea -128(%%rsp), %%rsp; pushq %1; popfq; lea 128(%%rsp), %%rsp; set" name " %0" \
               : "=q"(taken[number])                                                            \
               : "r"(flags | 0x202)                                                             \
               : "cc", "memory")
    SET(0, "o");
    SET(1, "no");
    SET(2, "b");
    SET(3, "ae");
    SET(4, "e");
    SET(5, "ne");
    SET(6, "be");
    SET(7, "a");
    SET(8, "s");
    SET(9, "ns");
    SET(10, "p");
    SET(11, "np");
    SET(12, "l");
    SET(13, "ge");
    SET(14, "le");
    SET(15, "g");
#undef SET
    for (unsigned condition = 0; condition < 16; ++condition)
      EXPECT_EQ(jump_is_taken(flags, condition), taken[condition]) << condition << " with flags " << flags;
  }
}

}  // namespace
}  // namespace fathom::arch
