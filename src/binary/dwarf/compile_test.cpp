#include "binary/dwarf/compile.h"

#include <gtest/gtest.h>

#include "binary/dwarf/testing_cfi.h"

namespace fathom::dwarf {
namespace {

using testing::bytes;
using testing::rule;
using testing::SectionBuilder;

TEST(Compile, FunctionsShareRulesAndHaveRowsOfTheirOwn) {
  SectionBuilder builder;
  const auto cie = builder.cie();
  builder.fde(cie, 0x1000, 64, bytes({0x41, 0x0e, 16}));
  builder.fde(cie, 0x2000, 32, bytes({0x44, 0x0e, 16, 0x41, 0x0e, 8}));
  RuleSet rules;
  CfiFunctions out;
  compile(builder.section(), rules, out);
  ASSERT_EQ(out.functions.size(), 2u);
  EXPECT_EQ(out.functions[0].row_count, 2u);
  EXPECT_EQ(out.functions[1].start, ElfAddress{0x2000});
  EXPECT_EQ(out.functions[1].size, 32u);
  EXPECT_EQ(out.functions[1].first_row, 2u);
  EXPECT_EQ(out.functions[1].row_count, 3u);
  EXPECT_EQ(rules.rules().size(), 4u);  // none, unsupported, rsp + 8, rsp + 16
  EXPECT_EQ(out.rows[0].rule, out.rows[4].rule);
}

TEST(Compile, WhatCannotBeUsedIsCounted) {
  SectionBuilder builder;
  const auto cie = builder.cie();
  builder.fde(cie, 0x1000, 64, bytes({0x41, 0x3f}));
  builder.fde(cie + 2, 0x2000, 64, {});
  testing::put(builder.raw(), std::uint32_t{77});
  RuleSet rules;
  CfiFunctions out;
  compile(builder.section(), rules, out);
  EXPECT_EQ(out.functions.size(), 1u);
  EXPECT_EQ(out.unsupported, 1u);
  EXPECT_EQ(out.skipped, 1u);
  EXPECT_TRUE(out.cut_short);
}

TEST(Compile, SecondSectionIsAppended) {
  SectionBuilder eh_frame;
  eh_frame.fde(eh_frame.cie(), 0x1000, 64, {});
  SectionBuilder debug_frame(FrameKind::kDebugFrame);
  debug_frame.fde(debug_frame.cie({.augmentation = ""}), 0x2000, 64, {});
  RuleSet rules;
  CfiFunctions out;
  compile(eh_frame.section(), rules, out);
  compile(debug_frame.section(), rules, out);
  ASSERT_EQ(out.functions.size(), 2u);
  EXPECT_EQ(out.functions[1].first_row, 1u);
}

}  // namespace
}  // namespace fathom::dwarf
