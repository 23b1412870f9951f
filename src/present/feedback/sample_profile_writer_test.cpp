#include "present/feedback/sample_profile_writer.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

TEST(SampleProfileWriter, LinesThenInlinedCallsABlankDeeper) {
  feedback::FunctionCounts leaf;
  leaf.lines = {{{1, 0}, 7}};
  feedback::FunctionCounts inlined;
  inlined.lines = {{{0, 0}, 20}, {{2, 3}, 5}};
  inlined.inlined[{2, 0}]["_Z4leafv"] = leaf;
  feedback::FunctionCounts work;
  work.head = 4;
  work.lines = {{{0, 0}, 4}, {{3, 0}, 100}};
  work.targets[{3, 0}] = {{"_Z1av", 60}, {"_Z1bv", 40}};
  work.inlined[{5, 2}]["_Z3midi"] = inlined;
  feedback::SourceProfile profile;
  profile.functions = {{"main", {.head = 1, .lines = {{{2, 0}, 1}}, .targets = {}, .inlined = {}}},
                       {"work", work}};
  EXPECT_EQ(sample_profile_text(profile),
            "# sample profile of LLVM, by fathom\n"
            "work:136:4\n"
            " 0: 4\n"
            " 3: 100 _Z1av:60 _Z1bv:40\n"
            " 5.2: _Z3midi:32\n"
            "  0: 20\n"
            "  2.3: 5\n"
            "  2: _Z4leafv:7\n"
            "   1: 7\n"
            "main:1:1\n"
            " 2: 1\n");
}

}  // namespace
}  // namespace fathom::present
