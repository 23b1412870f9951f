#include "base/arch/common/probe_operand.h"

#include <gtest/gtest.h>

namespace fathom::arch {
namespace {

constexpr std::uint8_t kNone = PROBE_NO_REGISTER;

// "kind size[s] base+shift index*scale offset symbol", or why it is none.
std::string told(const ProbeOperand& operand) {
  if (!operand.problem.empty()) return operand.problem;
  const probe_value& value = operand.value;
  std::string text = value.kind == PROBE_VALUE_CONSTANT   ? "constant "
                     : value.kind == PROBE_VALUE_REGISTER ? "register "
                                                          : "memory ";
  text += std::to_string(value.size) + (value.is_signed != 0 ? "s" : "");
  if (value.base != kNone) text += " base " + std::to_string(value.base);
  if (value.shift != 0) text += " shift " + std::to_string(value.shift);
  if (value.index != kNone)
    text += " index " + std::to_string(value.index) + "*" + std::to_string(value.scale);
  if (value.offset != 0) text += " offset " + std::to_string(value.offset);
  if (!operand.symbol.empty()) text += " of " + operand.symbol;
  return text;
}

std::string told(std::string_view text) {
  const auto operands = probe_operands(text);
  return operands.size() == 1 ? told(operands[0]) : std::to_string(operands.size()) + " operands";
}

TEST(ProbeOperand, IsAConstant) {
  EXPECT_EQ(told("8@$5"), "constant 8 offset 5");
  EXPECT_EQ(told("-4@$-1"), "constant 4s offset -1");
  EXPECT_EQ(told("8@$0"), "constant 8");
  EXPECT_EQ(told("8@$0x10"), "constant 8 offset 16");
  EXPECT_EQ(told("8@$18446744073709551615"), "constant 8 offset -1");
  EXPECT_EQ(told("8@$18446744073709551616"), "its constant is not a number");
  EXPECT_EQ(told("8@$name"), "its constant is not a number");
}

TEST(ProbeOperand, IsARegisterOfAnyWidth) {
  EXPECT_EQ(told("8@%rax"), "register 8 base 0");
  EXPECT_EQ(told("8@%rdi"), "register 8 base 5");
  EXPECT_EQ(told("8@%rsi"), "register 8 base 4");
  EXPECT_EQ(told("8@%rdx"), "register 8 base 1");
  EXPECT_EQ(told("8@%rcx"), "register 8 base 2");
  EXPECT_EQ(told("8@%rbx"), "register 8 base 3");
  EXPECT_EQ(told("8@%rsp"), "register 8 base 7");
  EXPECT_EQ(told("8@%r8"), "register 8 base 8");
  EXPECT_EQ(told("-4@%r15d"), "register 4s base 15");
  EXPECT_EQ(told("-4@%ebp"), "register 4s base 6");
  EXPECT_EQ(told("2@%cx"), "register 2 base 2");
  EXPECT_EQ(told("1@%dil"), "register 1 base 5");
  EXPECT_EQ(told("1@%r10b"), "register 1 base 10");
  EXPECT_EQ(told("2@%r9w"), "register 2 base 9");
  EXPECT_EQ(told("1@%bh"), "register 1 base 3 shift 8");
  EXPECT_EQ(told("-4@%rdi"), "register 4s base 5");
  EXPECT_EQ(told("8@%edi"), "its register is smaller than it");
  for (const char* text : {"8@%r7", "8@%r16", "8@%r8x", "8@%rip", "8@%xmm0", "8@%", "8@%st"})
    EXPECT_EQ(told(text), "its register is not a general one") << text;
}

TEST(ProbeOperand, IsAPlaceInMemory) {
  EXPECT_EQ(told("-4@-20(%rbp)"), "memory 4s base 6 offset -20");
  EXPECT_EQ(told("8@(%rsp)"), "memory 8 base 7");
  EXPECT_EQ(told("8@8(%rax,%r12,4)"), "memory 8 base 0 index 12*4 offset 8");
  EXPECT_EQ(told("8@(%rax,%rbx)"), "memory 8 base 0 index 3*1");
  EXPECT_EQ(told("8@16(,%rax,8)"), "memory 8 index 0*8 offset 16");
  EXPECT_EQ(told("4@counter(%rip)"), "memory 4 base 16 of counter");
  EXPECT_EQ(told("4@_ZL5table+12(%rip)"), "memory 4 base 16 offset 12 of _ZL5table");
  EXPECT_EQ(told("8@table(,%rax,8)"), "memory 8 index 0*8 of table");
  EXPECT_EQ(told("8@counter"), "memory 8 of counter");
  EXPECT_EQ(told("8@counter-8"), "memory 8 offset -8 of counter");
}

TEST(ProbeOperand, ThatCannotBeReadSaysWhy) {
  EXPECT_EQ(told("8f@%xmm0"), "it is a floating-point number");
  EXPECT_EQ(told("8@%fs:-4"), "it is in memory of its thread alone");
  EXPECT_EQ(told("8@counter@GOTPCREL(%rip)"), "only the loader knows its address");
  EXPECT_EQ(told("16@%rax"), "its size is none of 1, 2, 4 and 8");
  EXPECT_EQ(told("3@%rax"), "its size is none of 1, 2, 4 and 8");
  EXPECT_EQ(told("@%rax"), "its size is none of 1, 2, 4 and 8");
  EXPECT_EQ(told("%rax"), "its size is not said");
  for (const char* text :
       {"8@", "8@12", "8@()", "8@(%rax", "8@(rax)", "8@(%eax)", "8@(%rax,%rbx,3)", "8@(%rax,%rbx,4,5)",
        "8@(%rip,%rax,4)", "8@(%rax,%rip,4)", "8@(%rax)x", "8@+(%rax)", "8@99999999999999999999(%rax)"})
    EXPECT_EQ(told(text), "its operand is not understood") << text;
}

TEST(ProbeOperand, SeveralStandWithBlanksBetweenThem) {
  const auto three = probe_operands("8@%rax -4@-20(%rbp)  8@$5 ");
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(told(three[1]), "memory 4s base 6 offset -20");
  EXPECT_EQ(told(three[2]), "constant 8 offset 5");
  EXPECT_TRUE(probe_operands("").empty());
  EXPECT_TRUE(probe_operands("  ").empty());
  std::string many;
  for (int i = 0; i < 40; ++i) many += "8@$1 ";
  EXPECT_EQ(probe_operands(many).size(), 12U);
}

TEST(ProbePlace, BeginsWithAnInstructionThatDoesNothing) {
  const auto is_place = [](std::vector<unsigned char> code) {
    return is_probe_place(std::as_bytes(std::span(code)));
  };
  EXPECT_TRUE(is_place({0x90}));
  EXPECT_TRUE(is_place({0x66, 0x90, 0xc3}));
  EXPECT_TRUE(is_place({0x0f, 0x1f, 0x44, 0x00, 0x00}));
  EXPECT_FALSE(is_place({0x0f, 0x1f, 0x44, 0x00}));
  EXPECT_FALSE(is_place({0xc3, 0x90}));
  EXPECT_FALSE(is_place({0xcc}));
  EXPECT_FALSE(is_place({}));
}

}  // namespace
}  // namespace fathom::arch
