// Each rule of the planner on bytes made by hand.
#include "base/arch/common/entry_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace fathom::arch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ProcessAddress kFunction{0x400000}, kTrampoline{0x500000}, kStub{0x600000};

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    while (hex[i] == ' ') ++i;
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

std::string hex(std::span<const std::byte> all) {
  std::string out;
  for (const std::byte each : all) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (!out.empty()) out += ' ';
    out += kDigits[std::to_integer<unsigned>(each) >> 4];
    out += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return out;
}

Result<EntryPlan> plan(std::string_view code) {
  return plan_entry(from_hex(code), kFunction, kTrampoline, kStub);
}

std::string refusal(std::string_view code) {
  const auto planned = plan(code);
  if (planned) return "planned";
  EXPECT_EQ(planned.error().kind, ErrorKind::kUnsupported);
  return planned.error().message;
}

TEST(EntryPlan, AStartOfShortInstructionsIsMovedAndJumpsBackBehindThem) {
  // push %rbp; mov %rsp,%rbp; push %rbx; ret
  const auto planned = plan("55 48 89 e5 53 c3");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->patch_address, kFunction);
  EXPECT_EQ(hex(planned->before), "55 48 89 e5 53");
  EXPECT_EQ(hex(planned->after), "e9 fb ff 1f 00");
  EXPECT_EQ(hex(planned->trampoline), "55 48 89 e5 53 e9 fb ff ef ff");
  EXPECT_THAT(planned->moved,
              ElementsAre(MovedInstruction{0, 0}, MovedInstruction{1, 1}, MovedInstruction{4, 4}));
  EXPECT_FALSE(planned->single_instruction);
}

TEST(EntryPlan, AnEndbrStaysWhereItIsAndStandsInTheTrampolineToo) {
  // endbr64; cmp $0x1000,%rdi; ret
  const auto planned = plan("f3 0f 1e fa 48 81 ff 00 10 00 00 c3");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->patch_address.value, kFunction.value + 4);
  EXPECT_EQ(hex(planned->before), "48 81 ff 00 10 00 00");
  EXPECT_EQ(hex(planned->trampoline), "f3 0f 1e fa 48 81 ff 00 10 00 00 e9 fb ff ef ff");
  EXPECT_THAT(planned->moved, ElementsAre(MovedInstruction{4, 4}));
}

TEST(EntryPlan, OneInstructionOfFiveBytesOrMoreLeavesNoPlaceToStandInTheMiddle) {
  const auto planned = plan("48 81 ff 00 10 00 00 c3");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->single_instruction);
  // What is left of the instruction behind the jump becomes breakpoints.
  EXPECT_EQ(hex(planned->after), "e9 fb ff 1f 00 cc cc");
}

TEST(EntryPlan, ARipRelativeOperandNamesTheSameMemoryFromTheTrampoline) {
  // mov 0x1000(%rip),%rax names 0x401007; xor %ecx,%ecx
  const auto planned = plan("48 8b 05 00 10 00 00 31 c9 c3");
  ASSERT_TRUE(planned) << planned.error().message;
  // 0x401007 - 0x500007
  EXPECT_EQ(hex(planned->trampoline), "48 8b 05 00 10 f0 ff e9 fb ff ef ff");
}

TEST(EntryPlan, ARipRelativeOperandBeforeAnImmediateCountsFromTheEndOfTheInstruction) {
  // cmpl $0x12345678,0x10(%rip): ten bytes, names 0x40001a
  const auto planned = plan("81 3d 10 00 00 00 78 56 34 12 c3");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(hex(planned->trampoline), "81 3d 10 00 f0 ff 78 56 34 12 e9 fb ff ef ff");
}

TEST(EntryPlan, ShortAndLongBranchesBecomeLongOnesToTheSamePlace) {
  // test %rdi,%rdi; je +0x20 (to 0x400025); then nine bytes more
  const auto with_short = plan("48 85 ff 74 20 90 90 90 c3");
  ASSERT_TRUE(with_short) << with_short.error().message;
  // 0x400025 - 0x500009
  EXPECT_EQ(hex(with_short->trampoline), "48 85 ff 0f 84 1c 00 f0 ff e9 f7 ff ef ff");
  // ja +0x100 (to 0x400106), on its own
  const auto with_long = plan("0f 87 00 01 00 00 c3");
  ASSERT_TRUE(with_long) << with_long.error().message;
  EXPECT_EQ(hex(with_long->trampoline), "0f 87 00 01 f0 ff e9 fb ff ef ff");
  // jns: every condition is kept
  const auto other = plan("48 85 ff 79 20 90 90 90 c3");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(hex(other->trampoline).substr(0, 14), "48 85 ff 0f 89");
}

TEST(EntryPlan, AFunctionThatEndsInTheMovedBytesNeedsNoWayBack) {
  // jemalloc's rallocx: endbr64; xor %ecx,%ecx; jmp +0x100 (to 0x40010b)
  const auto planned = plan("f3 0f 1e fa 31 c9 e9 00 01 00 00");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(hex(planned->before), "31 c9 e9 00 01 00 00");
  // 0x40010b - 0x50000b
  EXPECT_EQ(hex(planned->trampoline), "f3 0f 1e fa 31 c9 e9 00 01 f0 ff");
  // A jump through memory, as a PLT entry has it.
  const auto indirect = plan("ff 25 00 10 00 00");
  ASSERT_TRUE(indirect) << indirect.error().message;
  EXPECT_EQ(hex(indirect->trampoline), "ff 25 00 10 f0 ff");
  // A short jump becomes a long one.
  const auto short_jump = plan("31 c0 90 eb 10");
  ASSERT_TRUE(short_jump) << short_jump.error().message;
  EXPECT_EQ(hex(short_jump->trampoline), "31 c0 90 e9 0d 00 f0 ff");
}

TEST(EntryPlan, AFunctionShorterThanTheJumpNeedsPaddingBehindIt) {
  // xor %eax,%eax; ret
  EXPECT_EQ(refusal("31 c0 c3"), "the function ends at +3, and no padding for a jump is known behind it");
  EXPECT_EQ(refusal("31 c0 c3 55 c3"),
            "the function ends at +3, and no padding for a jump is known behind it");
  const auto breakpoints = plan("31 c0 c3 cc cc");
  ASSERT_TRUE(breakpoints) << breakpoints.error().message;
  EXPECT_EQ(hex(breakpoints->before), "31 c0 c3 cc cc");
  EXPECT_EQ(hex(breakpoints->after), "e9 fb ff 1f 00");
  EXPECT_EQ(hex(breakpoints->trampoline), "31 c0 c3");
  // A long nop is padding as well, and what is behind the jump stays as it is.
  const auto nops = plan("31 c0 c3 0f 1f 84 00 00 00 00 00 66 90");
  ASSERT_TRUE(nops) << nops.error().message;
  EXPECT_EQ(nops->after.size(), 5U);
}

TEST(EntryPlan, AFunctionThatIsCutShortIsRefused) {
  EXPECT_EQ(refusal(""), "the function ends at +0");
  EXPECT_EQ(refusal("55 48 89 e5"), "the function ends at +4");
  EXPECT_EQ(refusal("f3 0f 1e fa"), "the function ends at +4");
}

TEST(EntryPlan, ACallAmongTheMovedBytesIsRefused) {
  EXPECT_EQ(refusal("e8 00 10 00 00 c3"), "a call at +0 would return into the trampoline");
  EXPECT_EQ(refusal("48 83 ec 08 e8 00 10 00 00 c3"), "a call at +4 would return into the trampoline");
  EXPECT_EQ(refusal("55 ff 15 00 10 00 00 c3"), "a call at +1 would return into the trampoline");
}

TEST(EntryPlan, BranchesThatOnlyExistAsShortOnesAreRefused) {
  EXPECT_EQ(refusal("31 c0 e2 10 90 90 c3"), "a short-only branch (loop) at +2");
  EXPECT_EQ(refusal("e1 10 90 90 90 90 c3"), "a short-only branch (loope) at +0");
  EXPECT_EQ(refusal("e0 10 90 90 90 90 c3"), "a short-only branch (loopne) at +0");
  EXPECT_EQ(refusal("e3 10 90 90 90 90 c3"), "a short-only branch (jrcxz) at +0");
  EXPECT_EQ(refusal("67 e3 10 90 90 90 90 c3"), "a short-only branch (jecxz) at +0");
}

TEST(EntryPlan, BranchesOnAVectorMaskAreRefused) {
  EXPECT_EQ(refusal("c5 78 85 a5 00 00 00 c3"), "a branch on a vector mask (jknzd) at +0");
}

TEST(EntryPlan, PlacesWithOtherEntriesAreRejected) {
  EXPECT_EQ(refusal("cc 48 89 e5 53 c3"), "a breakpoint at +0");
  EXPECT_EQ(refusal("55 f3 0f 1e fa c3"), "an indirect branch may land at +1 (endbr64)");
  // Not the endbr64 that compilers put at the start: with a prefix, five bytes.
  EXPECT_EQ(refusal("2e f3 0f 1e fa c3"), "an indirect branch may land at +0 (endbr64)");
  EXPECT_EQ(refusal("c7 f8 10 00 00 00 c3"), "a transaction starts at +0");
}

TEST(EntryPlan, ABranchIntoTheChangedBytesIsRejectedFromAnyPlace) {
  // ...; jmp to +1, where push %rbp was followed by mov
  EXPECT_EQ(refusal("55 48 89 e5 53 eb fa"), "the branch at +5 goes to +1, into the bytes that change");
  // From among the moved instructions themselves: a loop around the second one.
  EXPECT_EQ(refusal("90 ff cf 75 fc c3"), "the branch at +3 goes to +1, into the bytes that change");
  // A long one, and one past code that follows a return.
  EXPECT_EQ(refusal("55 48 89 e5 53 c3 0f 85 f5 ff ff ff c3"),
            "the branch at +6 goes to +1, into the bytes that change");
}

TEST(EntryPlan, ABranchFromOtherCodeIntoTheChangedBytesIsRefused) {
  const auto code = from_hex("f3 0f 1e fa 55 48 89 e5 53 c3");
  const std::uint8_t inside[] = {5}, outside[] = {4, 9};
  const auto refused = plan_entry(code, kFunction, kTrampoline, kStub, inside);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "other code branches to +5, into the bytes that change");
  EXPECT_TRUE(plan_entry(code, kFunction, kTrampoline, kStub, outside));
}

TEST(EntryPlan, ABranchToTheVeryStartIsACallOfTheFunctionAndAllowed) {
  EXPECT_TRUE(plan("55 48 89 e5 53 eb f9"));
  // Behind an endbr64, that is the first changed byte.
  EXPECT_TRUE(plan("f3 0f 1e fa 55 48 89 e5 53 eb f9"));
  EXPECT_TRUE(plan("f3 0f 1e fa 55 48 89 e5 53 eb f5"));
}

TEST(EntryPlan, ABranchToRightBehindTheChangedBytesIsAllowed) {
  EXPECT_TRUE(plan("55 48 89 e5 53 ff cf 75 fc c3"));
}

TEST(EntryPlan, CodeThatCannotBeDecodedIsRefused) {
  EXPECT_EQ(refusal("06 90 90 90 90 c3"), "the instruction at +0 cannot be decoded");
  EXPECT_EQ(refusal("55 48 89 e5 53 06 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 c3"),
            "the instruction at +5 cannot be decoded");
  // The last nop of the padding may be cut: no code goes there.
  EXPECT_TRUE(plan("55 48 89 e5 53 c3 90 66 2e 0f 1f 84"));
}

TEST(EntryPlan, WhatIsTooFarAwayIsRefused) {
  const auto code = from_hex("55 48 89 e5 53 c3");
  const auto far_stub = plan_entry(code, kFunction, kTrampoline, {kFunction.value + 0x80000005});
  ASSERT_FALSE(far_stub);
  EXPECT_EQ(far_stub.error().message, "the stub is more than 2 GiB away");
  EXPECT_TRUE(plan_entry(code, kFunction, kTrampoline, {kFunction.value + 0x80000004}));

  const auto far_trampoline = plan_entry(code, kFunction, {kFunction.value + (1ULL << 32)}, kStub);
  ASSERT_FALSE(far_trampoline);
  EXPECT_THAT(far_trampoline.error().message, HasSubstr("more than 2 GiB from the trampoline"));

  // Each end within reach, but not what the instruction names: 2 GiB behind the function, from a trampoline
  // before it.
  const auto naming = from_hex("48 8b 05 ff ff ff 7f c3");
  const auto planned = plan_entry(naming, kFunction, {kFunction.value - 0x1000}, kStub);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().message, "what +0 refers to is more than 2 GiB from the trampoline");
}

TEST(EntryPlan, ABranchThatProcessorsUnderstandDifferentlyIsRefused) {
  EXPECT_EQ(refusal("66 e9 00 01 00 00 c3"), "a branch with an operand-size prefix at +0");
}

TEST(EntryPlan, TheLongestStartsFit) {
  // endbr64; push %r15; push %r14; movabs of ten bytes
  const auto planned = plan("f3 0f 1e fa 41 57 41 56 48 b8 01 02 03 04 05 06 07 08 c3");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->before.size(), 14U);
  EXPECT_LE(planned->trampoline.size(), kTrampolineRoom);
  // sub $8,%rsp, and movq $imm32,%fs:disp32(%rax,%rax) of 13 bytes: more than a journal entry keeps.
  EXPECT_EQ(refusal("48 83 ec 08 64 48 c7 84 00 01 00 00 00 02 00 00 00 c3"),
            "17 bytes would change, 16 can be kept");
}

TEST(EntryPlan, FarJumpGoesAnywhereAndTouchesNoRegister) {
  EXPECT_EQ(hex(far_jump(0x7f0123456789abcd)), "ff 25 00 00 00 00 cd ab 89 67 45 23 01 7f cc cc");
}

}  // namespace
}  // namespace fathom::arch
