#include "present/feedback/bolt_writer.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

TEST(BoltWriter, ALineForEachInstruction) {
  feedback::SymbolCounts counts;
  counts.rows = {{"main", 0x1f, 12}, {"sort/sort.c/1", 0, 3}, {"sort/sort.c/1", 0xabc, 1'000'000'000'000}};
  EXPECT_EQ(bolt_text(counts),
            "no_lbr cycles\n1 main 1f 12\n1 sort/sort.c/1 0 3\n1 sort/sort.c/1 abc 1000000000000\n");
}

TEST(BoltWriter, BlanksInNamesAreEscaped) {
  feedback::SymbolCounts counts;
  counts.rows = {{"main.(*T).do it", 1, 2}, {"back\\slash", 3, 4}};
  EXPECT_EQ(bolt_text(counts), "no_lbr cycles\n1 main.(*T).do\\ it 1 2\n1 back\\\\slash 3 4\n");
}

TEST(BoltWriter, AProfileWithoutRowsIsItsFirstLine) {
  EXPECT_EQ(bolt_text({}), "no_lbr cycles\n");
}

}  // namespace
}  // namespace fathom::present
