#include "process/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fathom::process {
namespace {

using namespace std::string_view_literals;

TEST(Environment, HoldsWholeSettings) {
  constexpr auto kText = "A=1\0PYTHONMALLOC=malloc\0B=\0"sv;
  EXPECT_TRUE(has_setting(kText, "A=1"));
  EXPECT_TRUE(has_setting(kText, "PYTHONMALLOC=malloc"));
  EXPECT_TRUE(has_setting(kText, "B="));
  EXPECT_FALSE(has_setting(kText, "PYTHONMALLOC=m"));
  EXPECT_FALSE(has_setting(kText, "MALLOC=malloc"));
  EXPECT_FALSE(has_setting("", "A=1"));
  EXPECT_TRUE(has_setting("A=1", "A=1")) << "the last one may have no end";
}

TEST(Environment, OfNobodyHoldsNothing) {
  EXPECT_FALSE(was_started_with(0x7fffffff, "A=1"));
}

}  // namespace
}  // namespace fathom::process
