#include "binary/dwarf/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binary/dwarf/testing_cfi.h"

namespace fathom::dwarf {
namespace {

using testing::Bytes;
using testing::bytes;
using testing::rows_of;
using testing::rule;

// The rule of the first row, after these instructions.
unwind_rule rule_after(const Bytes& program, const testing::CieSpec& spec = {}) {
  return rows_of(program, 0x1000, spec).at(0).rule;
}
Bytes cfa_expression(const Bytes& expression) {
  auto out = bytes({0x0f, static_cast<int>(expression.size())});
  testing::put_all(out, expression);
  return out;
}

TEST(Rules, CfaIsCountedFromAnyRegister) {
  EXPECT_EQ(rule_after(bytes({0x0c, 7, 16})), rule(CFA_SP, 16));
  EXPECT_EQ(rule_after(bytes({0x0c, 6, 16})), rule(CFA_FP, 16));
  EXPECT_EQ(rule_after(bytes({0x0c, 10, 0})), rule(CFA_REGISTER, 0, FP_SAME, 0, 10));
  EXPECT_EQ(rule_after(bytes({0x0c, 17, 0})), rule(CFA_UNSUPPORTED));
}

TEST(Rules, ProcedureLinkageTableStub) {
  // breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus
  const auto stub = bytes({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  EXPECT_EQ(rule_after(cfa_expression(stub)), rule(CFA_PLT, 8, FP_SAME, 0, 11));
  auto other = stub;
  other[6] = std::byte{0x3a};
  EXPECT_EQ(rule_after(cfa_expression(other)), rule(CFA_PLT, 8, FP_SAME, 0, 10));
  other[8] = std::byte{0x32};  // times 4: not what a stub pushes
  EXPECT_EQ(rule_after(cfa_expression(other)), rule(CFA_UNSUPPORTED));
}

TEST(Rules, RealignedFrameLoadsTheCfa) {
  // gcc: CFA = *(rbp - 8), rbp at *rbp
  auto program = cfa_expression(bytes({0x76, 0x78, 0x06}));
  testing::put_all(program, bytes({0x10, 6, 2, 0x76, 0}));
  EXPECT_EQ(rule_after(program), rule(CFA_DEREF_FP, -8, FP_AT_FP, 0));
  EXPECT_EQ(rule_after(cfa_expression(bytes({0x77, 0xf8, 0, 0x06, 0x23, 8}))),
            rule(CFA_DEREF_SP, 120, FP_SAME, 0, 0, 8));
  EXPECT_EQ(rule_after(cfa_expression(bytes({0x77, 0, 0x06, 0x38, 0x22}))),
            rule(CFA_DEREF_SP, 0, FP_SAME, 0, 0, 8));
  EXPECT_EQ(rule_after(cfa_expression(bytes({0x73, 0, 0x06}))), rule(CFA_UNSUPPORTED));  // *(rbx)
  EXPECT_EQ(rule_after(cfa_expression(bytes({0x76, 0x78, 0x06, 0x23, 0x80, 1}))),
            rule(CFA_UNSUPPORTED));  // + 128
}

TEST(Rules, SignalFrameIsKnownByItsAugmentationAndItsCfa) {
  const auto program = cfa_expression(bytes({0x77, 0xa0, 1, 0x06}));  // *(rsp + 160)
  EXPECT_EQ(rule_after(program, {.augmentation = "zRS"}), rule(CFA_SIGNAL));
  EXPECT_EQ(rule_after(program), rule(CFA_DEREF_SP, 160));
  // 'S' with an ordinary CFA is an ordinary frame.
  EXPECT_EQ(rule_after(bytes({0x0e, 16}), {.augmentation = "zRS"}), rule(CFA_SP, 16));
}

TEST(Rules, UndefinedReturnAddressIsTheStartOfTheThread) {
  EXPECT_EQ(rule_after(bytes({0x07, 16})), rule(CFA_END));
}

TEST(Rules, ReturnAddressAnywhereElseIsUnsupported) {
  EXPECT_EQ(rule_after(bytes({0x90, 2})), rule(CFA_UNSUPPORTED));      // at CFA - 16
  EXPECT_EQ(rule_after(bytes({0x09, 16, 5})), rule(CFA_UNSUPPORTED));  // in rdi: vfork
  EXPECT_EQ(rule_after(bytes({0x87, 3})), rule(CFA_UNSUPPORTED));      // rsp saved in memory
  EXPECT_EQ(rule_after({}, {.return_register = 15}), rule(CFA_UNSUPPORTED));
}

TEST(Rules, CallersRbp) {
  EXPECT_EQ(rule_after(bytes({0x86, 4})), rule(CFA_SP, 8, FP_AT_CFA, -32));
  EXPECT_EQ(rule_after(bytes({0x08, 6})), rule(CFA_SP, 8, FP_SAME));
  EXPECT_EQ(rule_after(bytes({0x07, 6})), rule(CFA_SP, 8, FP_UNDEFINED));
  EXPECT_EQ(rule_after(bytes({0x09, 6, 3})), rule(CFA_SP, 8, FP_UNDEFINED));                        // in rbx
  EXPECT_EQ(rule_after(bytes({0x0e, 32, 0x10, 6, 2, 0x77, 8})), rule(CFA_SP, 32, FP_AT_CFA, -24));  // rsp + 8
  EXPECT_EQ(rule_after(bytes({0x10, 6, 3, 0x77, 8, 0x06})), rule(CFA_SP, 8, FP_UNDEFINED));
}

TEST(Rules, OffsetsThatDoNotFitAreUnsupported) {
  EXPECT_EQ(rule_after(bytes({0x0e, 0x80, 0x80, 0x80, 0x80, 0x08})), rule(CFA_UNSUPPORTED));  // 2^31
  EXPECT_EQ(rule_after(bytes({0x0e, 0xf8, 0xff, 0xff, 0xff, 0x07})), rule(CFA_SP, 0x7ffffff8));
}

TEST(RuleSet, KeepsEachRuleOnceAndStartsWithTheTwoFixedOnes) {
  RuleSet rules;
  EXPECT_EQ(rules.insert(rule(CFA_NONE)), RuleSet::kNone);
  EXPECT_EQ(rules.insert(rule(CFA_UNSUPPORTED)), RuleSet::kUnsupported);
  const auto first = rules.insert(rule(CFA_SP, 8));
  EXPECT_EQ(rules.insert(rule(CFA_SP, 8)), first);
  for (int i = 0; i < 70000; ++i) rules.insert(rule(CFA_FP, i));
  EXPECT_EQ(rules.rules().size(), std::size_t{UNWIND_MAX_RULES});
  EXPECT_EQ(rules.insert(rule(CFA_FP, 69999)), RuleSet::kUnsupported);  // no room: said, not guessed
  EXPECT_EQ(rules.insert(rule(CFA_SP, 8)), first);
}

}  // namespace
}  // namespace fathom::dwarf
