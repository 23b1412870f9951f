#include "binary/dwarf/cfa_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binary/dwarf/testing_cfi.h"

namespace fathom::dwarf {
namespace {

using testing::bytes;
using ::testing::ElementsAre;
using testing::Row;
using testing::rows_of;
using testing::rule;

TEST(CfaProgram, PrologueAndEpilogueOfAFrameWithRbp) {
  // push rbp; mov rbp, rsp; ...; pop rbp
  const auto rows = rows_of(bytes({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 40, 0x0c, 7, 8}));
  EXPECT_THAT(
      rows, ElementsAre(Row{0, rule(CFA_SP, 8)}, Row{1, rule(CFA_SP, 16, FP_AT_CFA, -16)},
                        Row{4, rule(CFA_FP, 16, FP_AT_CFA, -16)}, Row{44, rule(CFA_SP, 8, FP_AT_CFA, -16)}));
}

TEST(CfaProgram, RememberedStateComesBackWithItsCfa) {
  const auto rows = rows_of(bytes({0x0e, 64, 0x86, 2, 0x41, 0x0a, 0x0e, 8, 0xc6, 0x41, 0x0b}));
  EXPECT_THAT(rows, ElementsAre(Row{0, rule(CFA_SP, 64, FP_AT_CFA, -16)}, Row{1, rule(CFA_SP, 8)},
                                Row{2, rule(CFA_SP, 64, FP_AT_CFA, -16)}));
}

TEST(CfaProgram, RestoreGoesBackToTheCie) {
  auto start = testing::usual_start();
  start.push_back(std::byte{0x86});
  start.push_back(std::byte{3});  // the CIE saves rbp at CFA - 24
  const auto rows =
      rows_of(bytes({0x86, 2, 0x41, 0xc6, 0x41, 0x08, 6, 0x41, 0x06, 6}), 0x1000, {.program = start});
  EXPECT_THAT(rows,
              ElementsAre(Row{0, rule(CFA_SP, 8, FP_AT_CFA, -16)}, Row{1, rule(CFA_SP, 8, FP_AT_CFA, -24)},
                          Row{2, rule(CFA_SP, 8)}, Row{3, rule(CFA_SP, 8, FP_AT_CFA, -24)}));
}

TEST(CfaProgram, AdvancesOfEverySizeAreScaledByTheCodeAlignment) {
  const auto rows =
      rows_of(bytes({0x41, 0x0e, 16, 0x02, 2, 0x0e, 24, 0x03, 0, 1, 0x0e, 32, 0x04, 0, 0, 1, 0, 0x0e, 40}),
              0x1000000, {.code_alignment = 4});
  EXPECT_THAT(rows, ElementsAre(Row{0, rule(CFA_SP, 8)}, Row{4, rule(CFA_SP, 16)}, Row{12, rule(CFA_SP, 24)},
                                Row{12 + 1024, rule(CFA_SP, 32)}, Row{12 + 1024 + 262144, rule(CFA_SP, 40)}));
}

TEST(CfaProgram, SignedAndFactoredForms) {
  // def_cfa_sf rbp, -2 (* -8 = 16); offset_extended_sf rbp, 2; then GNU_negative_offset_extended rbp, 3
  const auto rows = rows_of(bytes({0x12, 6, 0x7e, 0x11, 6, 2, 0x41, 0x13, 0x7d, 0x2f, 6, 3, 0x2e, 99}));
  EXPECT_THAT(rows,
              ElementsAre(Row{0, rule(CFA_FP, 16, FP_AT_CFA, -16)}, Row{1, rule(CFA_FP, 24, FP_AT_CFA, 24)}));
}

TEST(CfaProgram, InstructionsForOtherRegistersLeaveNoRow) {
  const auto rows = rows_of(bytes({0x41, 0x83, 4, 0x41, 0x05, 12,   5, 0x41, 0x07, 0,    0x41, 0x09, 1, 2,
                                   0x41, 0x14, 3, 1,    0x41, 0x10, 3, 2,    0x77, 0x08, 0x41, 0xc3}));
  EXPECT_THAT(rows, ElementsAre(Row{0, rule(CFA_SP, 8)}));
}

TEST(CfaProgram, SetLocGoesToAnAddress) {
  // The encoding of the CIE: absolute, so that the program need not know where it stands.
  testing::SectionBuilder builder(FrameKind::kDebugFrame);
  auto program = bytes({0x01});
  testing::put(program, std::uint64_t{0x1010});
  testing::put_all(program, bytes({0x0e, 16}));
  builder.fde(builder.cie({.augmentation = ""}), 0x1000, 0x100, program);
  RuleSet rules;
  CfiFunctions out;
  compile(builder.section(), rules, out);
  ASSERT_EQ(out.rows.size(), 2u);
  EXPECT_EQ(out.rows[1].offset, 0x10u);
}

TEST(CfaProgram, RowsBeyondTheFunctionAreDropped) {
  EXPECT_EQ(rows_of(bytes({0x50, 0x0e, 16}), 16).size(), 1u);
  EXPECT_EQ(rows_of(bytes({0x4f, 0x0e, 16}), 16).size(), 2u);
}

TEST(CfaProgram, AdvanceThatOverflowsMakesTheRestUnknown) {
  // code alignment 0xffffffffffffffff (10 bytes of uleb are more than CieSpec writes; 127 * 2^32 still does
  // not wrap)
  const auto cut = rows_of(bytes({0x41, 0x0e, 16, 0x41, 0x04, 1}));
  EXPECT_THAT(cut,
              ElementsAre(Row{0, rule(CFA_SP, 8)}, Row{1, rule(CFA_SP, 16)}, Row{2, rule(CFA_UNSUPPORTED)}));
  const auto far = rows_of(bytes({0x04, 0xff, 0xff, 0xff, 0xff, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16}),
                           0x1000, {.code_alignment = 127});
  EXPECT_THAT(far, ElementsAre(Row{0, rule(CFA_SP, 8)}));
}

TEST(CfaProgram, BrokenProgramKeepsTheRowsBefore) {
  for (const auto& broken : {bytes({0x3f}), bytes({0x0b}), bytes({0x86}), bytes({0x10, 6, 100, 0x77}),
                             bytes({0x0f, 1, 0x77, 0x0e, 16})}) {
    auto program = bytes({0x41, 0x0e, 16, 0x41});
    testing::put_all(program, broken);
    EXPECT_THAT(rows_of(program), ElementsAre(Row{0, rule(CFA_SP, 8)}, Row{1, rule(CFA_SP, 16)},
                                              Row{2, rule(CFA_UNSUPPORTED)}));
  }
}

TEST(CfaProgram, BrokenCieMakesItsFunctionsUnsupported) {
  EXPECT_THAT(rows_of({}, 16, {.program = bytes({0x41})}), ElementsAre(Row{0, rule(CFA_UNSUPPORTED)}));
  EXPECT_THAT(rows_of({}, 16, {.program = bytes({0xc6})}), ElementsAre(Row{0, rule(CFA_UNSUPPORTED)}));
}

TEST(CfaProgram, RememberingWithoutEndIsStopped) {
  EXPECT_EQ(rows_of(testing::Bytes(1000, std::byte{0x0a})).back(), (Row{0, rule(CFA_UNSUPPORTED)}));
}

}  // namespace
}  // namespace fathom::dwarf
