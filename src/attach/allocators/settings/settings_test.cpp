#include "attach/allocators/settings/settings.h"

#include <gtest/gtest.h>

namespace fathom::allocators {
namespace {

TEST(AllocatorSettings, PrefixIsInTheLabel) {
  EXPECT_EQ(prefix_in("jemalloc 5.3.0 (_rjem_)"), "_rjem_");
  EXPECT_EQ(prefix_in("jemalloc 5.3.0"), "");
  EXPECT_EQ(prefix_in(""), "");
  EXPECT_EQ(prefix_in("jemalloc ("), "") << "cut";
  EXPECT_EQ(prefix_in(")("), "");
  EXPECT_EQ(prefix_in("()"), "");
}

TEST(AllocatorSettings, VariableHasThePrefixInCapitals) {
  EXPECT_EQ(jemalloc_variable("_rjem_"), "_RJEM_MALLOC_CONF");
  EXPECT_EQ(jemalloc_variable("je_2"), "JE_2MALLOC_CONF");
  EXPECT_EQ(jemalloc_variable(""), "MALLOC_CONF");
}

}  // namespace
}  // namespace fathom::allocators
